import CloakroomAWS
import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct RoleFindingsTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let arn = "arn:aws:iam::000000000000:role/session"

    private static func lines(
        _ answers: RoleObservations, lifetime: Duration = .seconds(3600), isChained: Bool = false
    ) throws -> [String] {
        let role = try settings(smallest()).vending.roles.main
        return RoleFindings(answers, role, lifetime: lifetime, isChained: isChained, now: now).all.lines
    }

    private static func role(lasting seconds: Double) -> RoleObservations {
        RoleObservations(
            asked: .success(
                AssumedRole(
                    accessKeyID: "A", secretAccessKey: Secret("s"), sessionToken: Secret("t"),
                    expiration: now.addingTimeInterval(seconds))))
    }

    private static func refused(_ code: String, _ message: String? = nil) -> RoleObservations {
        RoleObservations(
            asked: .failure(.refused(status: code == "AccessDenied" ? 403 : 400, code: code)), message: message)
    }

    @Test func `tells sessions that end before their time`() throws {
        #expect(
            try Self.lines(Self.role(lasting: 3600)) == [
                "ok: \(Self.arn) can be assumed, with tags and a session policy",
                "ok: sessions last the 3600 s of the settings",
            ])
        #expect(
            try Self.lines(Self.role(lasting: 3600), lifetime: .seconds(43_200), isChained: true).last
                == "warning: sessions last 3600 s, the settings say 43200")
    }

    @Test func `tells of sessions that are not vended because they last too long`() throws {
        let observed = RoleObservations(asked: .failure(.unusable(code: "ExpiresTooLate")))
        #expect(
            try Self.lines(observed, lifetime: .seconds(900)) == [
                "error: STS gives sessions that last longer than the 900 s they are requested for"
            ])
    }

    @Test func `knows a trust policy that takes no tags of who shares`() throws {
        var observed = Self.refused("AccessDenied")
        observed.worksWithoutSharing = true
        #expect(
            try Self.lines(observed).first?.hasPrefix(
                "error: \(Self.arn) accepts no tags Shared1 to Shared4, which vending.sharing needs") == true)
    }

    @Test func `knows a trust policy without TagSession by what STS says`() throws {
        let message =
            "User: arn:aws:sts::123456789012:assumed-role/worker/i-1 is not authorized to perform: sts:TagSession on "
            + "resource: \(Self.arn)"
        #expect(
            try Self.lines(Self.refused("AccessDenied", message)) == [
                "error: \(Self.arn) accepts no tags; STS says \(message): AccessDenied (403)"
            ])
    }

    @Test func `knows it, too, when the same is taken without tags`() throws {
        var answers = Self.refused("AccessDenied")
        answers.worksWithoutTags = true
        #expect(try Self.lines(answers) == ["error: \(Self.arn) accepts no tags; STS says AccessDenied (403)"])
    }

    @Test func `a policy that has room only without tags is too long, whatever the trust policy says`() throws {
        var answers = Self.refused("PackedPolicyTooLarge")
        answers.worksWithoutTags = true
        #expect(
            try Self.lines(answers) == [
                "error: the session policy is not accepted; STS says PackedPolicyTooLarge (400)"
            ])
    }

    @Test func `knows a lifetime beyond the role's`() throws {
        let message = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        #expect(
            try Self.lines(Self.refused("ValidationError", message), lifetime: .seconds(7200)) == [
                "error: \(Self.arn) gives no session of 7200 s; STS says \(message): ValidationError (400)"
            ])
    }

    @Test(arguments: [
        ("AccessDenied", "cannot be assumed", 403), ("RegionDisabledException", "cannot be assumed", 400),
    ])
    func `tells any other refusal in STS's word`(code: String, expected: String, status: Int) throws {
        #expect(try Self.lines(Self.refused(code)) == ["error: \(Self.arn) \(expected); STS says \(code) (\(status))"])
    }
}

struct WorkerFindingsTests {
    private static let denied = AWSError(.refused, status: 403, code: "AccessDenied")

    private static let places = ["in the bucket itself", "under assets/", "under photos/USER/", "under notes/USER/"]
        .map { WorkerObservations.Place(words: $0, outcome: .refused) }

    private static func lines(
        renewsUsersFolders: Bool = false, _ change: (inout WorkerObservations) -> Void = { _ in }
    ) -> [String] {
        var answers = WorkerObservations(origin: "instance", buckets: .failure(denied), policy: .refused)
        answers.deletions = places
        answers.reads = Array(places.suffix(2))
        change(&answers)
        return WorkerFindings(answers, bucket: "photos", renewsUsersFolders: renewsUsersFolders).all.lines
    }

    @Test func `has nothing to say against the worker's policy`() {
        #expect(
            Self.lines() == [
                "ok: its credentials are there: instance",
                "ok: it can do none of what it needs not, as far as S3 tells",
            ])
    }

    @Test func `tells all that is too much`() {
        let lines = Self.lines {
            $0.buckets = .success(["photos", "payroll"])
            $0.deletions[0].outcome = ProbeOutcome(AWSError(.refused, status: 412, code: "PreconditionFailed"))
            $0.policy = ProbeOutcome(ofPolicy: AWSError(.refused, status: 400, code: "MalformedPolicy"))
            $0.reads[0].outcome = ProbeOutcome(AWSError(.refused, status: 404, code: "NoSuchKey"))
        }
        #expect(
            lines.dropFirst() == [
                "warning: it can list 2 buckets", "warning: it can delete objects in the bucket itself",
                "warning: it can change the bucket's policy",
                "warning: it can read what users store under photos/USER/",
            ])
    }

    /// A policy may allow one place alone, such as assets, or users' photos.
    @Test func `names each place where it can delete or read`() {
        let lines = Self.lines {
            for index in 1...2 { $0.deletions[index].outcome = .allowed }
            $0.reads[1].outcome = .allowed
        }
        #expect(
            lines.dropFirst() == [
                "warning: it can delete objects under assets/, under photos/USER/",
                "warning: it can read what users store under notes/USER/",
            ])
    }

    @Test func `says what it was not told of deletions`() {
        let lines = Self.lines {
            for index in 0...1 {
                $0.deletions[index].outcome = ProbeOutcome(AWSError(.transient, status: 503, code: "SlowDown"))
            }
        }
        #expect(
            lines.last == "skipped: S3 does not tell whether it can delete objects in the bucket itself, under assets/:"
                + " SlowDown (503)")
    }

    @Test(arguments: [
        AWSError(.refused, status: 501, code: "NotImplemented"),
        AWSError(.transient, status: 500, code: "InternalError"),
        AWSError(.transient, code: "Timeout"), AWSError(.staleCredentials, status: 400, code: "ExpiredToken"),
    ])
    func `a store that does not judge a policy says nothing about who may change it`(fault: AWSError) {
        let lines = Self.lines { $0.policy = ProbeOutcome(ofPolicy: fault) }
        #expect(!lines.contains { $0.hasPrefix("warning") })
        #expect(
            lines.last == "skipped: S3 does not tell whether it can change the bucket's policy: \(fault.words)")
    }

    @Test func `where users renew what is in their folders, the worker has to read those`() {
        let lines = Self.lines(renewsUsersFolders: true) { $0.reads[0].outcome = .allowed }
        #expect(!lines.contains { $0.hasPrefix("warning") })
    }

    /// - Parameter refused: all other actions are allowed.
    private static func chat(_ mode: ReleaseMode, refused: Set<ChatAction> = []) -> WorkerObservations.Chat {
        var outcomes: [ChatAction: ProbeOutcome] = [:]
        for action in ChatAction.allCases { outcomes[action] = refused.contains(action) ? .refused : .allowed }
        return WorkerObservations.Chat(keyPrefix: "chats/", mode: mode, outcomes: outcomes)
    }

    @Test func `the right to delete images of chats is what releases need, and nothing to warn of`() {
        #expect(
            Self.lines { $0.chat = Self.chat(.delete, refused: [.tag]) } == [
                "ok: its credentials are there: instance",
                "ok: it can upload images of chats under chats/, look for them, and release them by s3:DeleteObject",
                "ok: it can do none of what it needs not, as far as S3 tells",
            ])
        let beyond = Self.lines {
            $0.deletions[0].outcome = .allowed
            $0.chat = Self.chat(.delete)
        }
        #expect(beyond.contains("warning: it can delete objects in the bucket itself"))
    }

    @Test func `in mode tag a right to delete is too much`() {
        #expect(
            Self.lines { $0.chat = Self.chat(.tag) }.dropFirst() == [
                "ok: it can upload images of chats under chats/, look for them, and release them by s3:PutObjectTagging",
                "warning: it can delete images of chats, though release.mode is \"tag\"",
            ])
    }

    /// A policy with `s3:DeleteObject` alone, beside a worker's policy that has no place for the whole bucket.
    @Test(arguments: ReleaseMode.allCases)
    func `each action that is missing for images of chats is named, and the advice names all`(mode: ReleaseMode) throws
    {
        let observations = WorkerObservations(
            origin: "instance", buckets: .failure(Self.denied), policy: .refused,
            chat: Self.chat(
                mode, refused: [.read, .upload, .abortUpload, .listParts, mode == .delete ? .tag : .delete]))
        let findings = WorkerFindings(observations, bucket: "photos", renewsUsersFolders: false).all
        let error = try #require(findings.first { $0.level == .error })
        #expect(
            error.found == "it lacks s3:GetObject, s3:PutObject, s3:AbortMultipartUpload and"
                + " s3:ListMultipartUploadParts on images of chats under chats/")
        let (last, file) = mode == .delete ? ("DeleteObject", "release") : ("PutObjectTagging", "release-tag")
        #expect(
            error.advice == "allow s3:GetObject, s3:PutObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts and"
                + " s3:\(last) on chats/* alone: deploy/iam/\(file)-policy.json; without s3:ListBucket S3 refuses"
                + " s3:GetObject here as well")
        #expect(!findings.contains { $0.found.contains("it can upload images") })
    }

    @Test func `what S3 does not tell of images of chats is skipped`() {
        let lines = Self.lines {
            $0.chat = Self.chat(.delete)
            $0.chat?.outcomes[.upload] = .unclear("SlowDown (503)")
        }
        #expect(lines[1] == "skipped: S3 does not tell whether it has s3:PutObject on chats/*: SlowDown (503)")
    }

    /// SeaweedFS lists what one may see, and no more.
    @Test func `a list of its own bucket is not too much`() {
        #expect(Self.lines { $0.buckets = .success(["photos"]) }.count == 2)
    }
}
