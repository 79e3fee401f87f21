import CloakroomAWS
import CloakroomServer
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand
@testable import CloakroomOperations

/// What the commands about users make of their lines, and what they say.
struct UserCommandTests {
    private static func settings(_ redis: String = "{}", subjects: String = "mapped") throws -> Settings {
        let text = """
            {
              region: "eu-central-1", bucket: "photos", redis: \(redis),
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {env: "SIGNING"},
                                  subjects: "\(subjects)"}]},
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
            }
            """
        return try Settings.load(
            file: "/settings.json5", environment: ["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]
        ) { $0 == "/settings.json5" ? Array(text.utf8) : nil }
    }

    private static let sentinels = "{sentinels: ['s:1', 't:1'], master: 'one'}"

    @Test(
        arguments: [
            ("{}", "0", true), ("{}", "18446744073709551615", true), ("{}", "1:1:0", false), ("{}", "x", false),
            ("{}", "", false), ("{cluster: ['c:6379']}", "0", true), ("{cluster: ['c:6379']}", "7", false),
            ("{cluster: ['c:6379']}", "904465a8a9d3611a:1:0", true), ("{cluster: ['c:6379']}", "9:2:77", true),
            ("{cluster: ['c:6379']}", "904465a8a9d3611a:1", false), ("{cluster: ['c:6379']}", "g:1:0", false),
            ("{cluster: ['c:6379']}", "9::0", false), ("{cluster: ['c:6379']}", "9:1:0:0", false),
            ("{cluster: ['c:6379']}", "9:1:904465a8a9d3611a:77", true),
            ("{cluster: ['c:6379']}", "904465a8a9d3611a:77", false),
            ("{}", "904465a8a9d3611a:77", true), ("{}", "904465a8a9d3611a:", false), ("{}", "9:77", false),
            (Self.sentinels, "0", true), (Self.sentinels, "904465a8a9d3611a:77", true), (Self.sentinels, "77", false),
            (Self.sentinels, "9:1:904465a8a9d3611a:77", false),
        ] as [(String, String, Bool)])
    func `a list goes on where one of the same kind of Redis ended`(redis: String, cursor: String, isTaken: Bool) throws
    {
        #expect(try Self.settings(redis).redis.servers.isCursor(cursor) == isTaken)
    }

    // MARK: Replicas

    @Test(
        arguments: [
            (nil, .success), (.replicas(reached: 0, of: 2), .unfinished), (.replicas(reached: 1, of: 2), .success),
            (.noReplicas, .unfinished), (.unknown(.timeout), .unfinished),
            (.unknown(.refused(code: "NOPERM")), .success), (.unknown(.refused(code: "ERR")), .success),
        ] as [(RecordReplication?, CloakroomCommand.ExitStatus)])
    func `a change that a failover may lose is not done, and the exit status says so`(
        replication: RecordReplication?, status: CloakroomCommand.ExitStatus
    ) {
        #expect(UserCommandLine.note(replication) == status)
        if let replication { #expect(replication.sentence.contains("run this again") == (status == .unfinished)) }
    }

    @Test func `a part that failed counts more than one that needs another run`() {
        #expect(CloakroomCommand.ExitStatus.success.and(.success) == .success)
        for status in [CloakroomCommand.ExitStatus.failure, .unfinished] {
            #expect(status.and(.success) == status && CloakroomCommand.ExitStatus.success.and(status) == status)
        }
        for (first, second) in [(.failure, .unfinished), (.unfinished, .failure)]
            as [(CloakroomCommand.ExitStatus, CloakroomCommand.ExitStatus)]
        { #expect(first.and(second) == .failure) }
    }

    // MARK: Ids

    private static let mapped = "u_23ccd2f5-6f5e-5d6a-9c3b-0123456789ab"

    @Test func `an id that no token can have is refused, unless the operator insists`() throws {
        let line = UserCommandLine(settings: try Self.settings(), file: "s.json5")
        let usual = try Options(["alice", "s.json5"], of: UserDisable.syntax)
        let insisting = try Options(["--any-id", "alice", "s.json5"], of: UserDisable.syntax)
        let alice = try #require(UserID("alice"))
        let error = #expect(throws: EarlyExit.self) { try line.requireIssued(alice, usual) }
        guard case .usage(let text) = error else { return _ = Issue.record("\(String(describing: error))") }
        #expect(text.contains("no token can be of the user alice") && text.contains("--subject"))
        try line.requireIssued(alice, insisting)
        try line.requireIssued(#require(UserID(Self.mapped)), usual)
        try UserCommandLine(settings: Self.settings(subjects: "plain"), file: "s.json5").requireIssued(alice, usual)
    }

    @Test func `each command about one user takes a subject in place of the id, and those that make records any id`() {
        let makers = ["user set", "user disable", "user revoke", "user share"]
        for syntax in CommandTable.syntaxes where syntax.words[0] == "user" && syntax.name != "user list" {
            #expect(syntax.values["issuer"] != nil && syntax.values["subject"] != nil, "\(syntax.name)")
            #expect(syntax.flags.contains("any-id") == makers.contains(syntax.name), "\(syntax.name)")
        }
    }

    /// With the settings in a file: the commands' own way.
    @Test func `a subject is mapped as its tokens' is`() throws {
        let folder = try TemporaryFolder()
        let secret = folder["secret"]
        try "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".write(toFile: secret, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        let text = """
            {
              region: "eu-central-1", bucket: "photos", vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["a"], secret: {file: "\(secret)"},
                                  subjects: "mapped"}]},
            }
            """
        let file = folder["settings.json5"]
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        let user = UserID(mapping: "alice", of: "https://auth.example")
        for words in [["--subject", "alice"], ["--subject", "alice", "--issuer", "https://auth.example"]] {
            let options = try Options(words + [file], of: UserRevoke.syntax)
            #expect(try UserCommandLine.ofUser(options, makesRecord: true).user == user)
        }
        for words in [
            ["--subject", "alice", user.text], ["--issuer", "https://auth.example"], ["--subject", ""],
            ["--subject", "alice", "--issuer", "https://other.example"], ["alice"], [],
        ] {
            let options = try Options(words + [file], of: UserRevoke.syntax)
            let error = #expect(throws: EarlyExit.self) { try UserCommandLine.ofUser(options, makesRecord: true) }
            guard case .usage = error else { return _ = Issue.record("\(words): \(String(describing: error))") }
        }
    }

    // MARK: Sentences

    @Test func `says what to do about a refusal of Redis`() throws {
        let (single, cluster) = try (Self.settings().redis, Self.settings("{cluster: ['c:6379']}").redis)
        let full = UserCommandLine.sentence(.redis(.refused(code: "OOM")), single)
        #expect(full.contains("refuses with OOM") && full.contains("used up maxmemory"))
        let moved = UserRecordError.redis(.refused(code: "MOVED"))
        #expect(UserCommandLine.sentence(moved, single).contains("redis.cluster"))
        #expect(UserCommandLine.sentence(moved, cluster).contains("have moved meanwhile"))
        let other = UserRecordError.redis(.refused(code: "NOCURSOR"))
        for redis in try [single, cluster, Self.settings(Self.sentinels).redis] {
            let sentence = UserCommandLine.sentence(other, redis)
            #expect(sentence.contains("has another master or has restarted meanwhile, and some keys may be missing"))
            #expect(sentence.hasSuffix("run this again from the beginning, a list without --cursor"))
        }
    }

    @Test func `says which role is of another account, and which clocks differ`() throws {
        let settings = try Self.settings()
        let (role, user) = (settings.vending.roles.main, try #require(UserID("u_1")))
        func sentence(_ failure: Revocation.RevocationError) -> String {
            UserRevoke.sentence(
                failure, of: user, role, UserCommandLine(settings: settings, file: "s.json5"))
        }
        let account = sentence(.otherAccount("123456789012"))
        #expect(account.contains("arn:aws:iam::000000000000:role/session") && account.contains("123456789012"))
        let clocks = sentence(
            .clocks(own: Date(timeIntervalSince1970: 1_800_000_000), redis: Date(timeIntervalSince1970: 1_800_000_600)))
        #expect(clocks.hasPrefix("nothing is changed: "))
        #expect(clocks.contains("2027-01-15T08:00:00Z") && clocks.contains("2027-01-15T08:10:00Z"))
        #expect(sentence(.policy(.tooMany(145))).contains("in 6144 characters; run this again with --all-sessions"))
        for deniesAll in [false, true] {
            let full = sentence(.noRoom(deniesAll: deniesAll))
            #expect(full.contains("arn:aws:iam::000000000000:role/session") && full.contains("--role-name session)"))
            #expect(full.contains("10240 characters") && full.contains("--all-sessions") == !deniesAll)
        }
        let denial = Revocation.Denial(policy: RevocationPolicy(), moved: [user])
        let lost = sentence(.unconfirmed(denial, AWSError(.transient, code: "Timeout")))
        #expect(lost.contains("is not known, since IAM's response was lost (Timeout); try again"))
        let unknown = sentence(.unknownAccount(AWSError(.refused, status: 403, code: "AccessDenied")))
        #expect(unknown.contains("STS") && unknown.contains("(AccessDenied, 403)"))
    }

    @Test func `says whose tokens may outlast the time for which a revoked user's record is kept`() throws {
        let (tokens, user) = (try Self.settings().tokens, try #require(UserID("u_1")))
        let end = Date(timeIntervalSince1970: 1_800_000_000)
        let refusal = UserDelete.sentence(ofRevoked: user, until: end, tokens)
        #expect(refusal.hasPrefix("nothing is deleted: u_1 was revoked, and without the record workers would accept"))
        #expect(refusal.contains("; delete it after 2027-01-15T08:00:00Z, or with --forget-revocation; tokens of "))
        #expect(refusal.contains("tokens of https://auth.example may live longer, and would count again"))
        let note = UserDelete.sentence(ofForgotten: user, tokens)
        #expect(note.contains("no longer counts as revoked, tokens of https://auth.example included"))
    }

    // MARK: Proposed commands

    /// The words of each command at the end of a line, as a shell reads them.
    private static func commands(in text: String) -> [[String]] {
        text.split(separator: "\n").compactMap { line in
            line.firstRange(of: "cloakroom user ").map { found in
                line[found.lowerBound...].matches(of: /'([^']*)'|\S+/).map { String($0.output.1 ?? $0.output.0) }
            }
        }
    }

    @Test(arguments: ["/etc/cloakroom/cloakroom.json5", "/etc/my settings.json5", "-s.json5"])
    func `each command that a sentence proposes runs as it stands`(file: String) throws {
        let settings = try Self.settings(subjects: "plain")
        let line = UserCommandLine(settings: settings, file: file)
        let (one, two, hyphen) = (try #require(UserID("u_1")), try #require(UserID("u_2")), try #require(UserID("-h")))
        let end = Date(timeIntervalSince1970: 1_800_000_000)
        func folder(_ prefix: String) throws -> SharedFolder {
            try #require(SharedFolder(owner: one, prefix: prefix, end: end))
        }
        let (above, within) = (try folder("photos/u_1/"), try folder("photos/u_1/x/y z/"))
        var texts = [UserSharing.sentence([two], line), UserSharing.sentence([two, hyphen], line)]
        texts.append(UserSharing.sentence([two], line, after: end))
        texts += UserUnshare.left([above, within], of: "photos/u_1/x/", two, line)
        let refusals: [ShareRefusal] = [.tooManyOwners, .tooManyFolders, .tooLarge(tier: "free", besidesOthers: true)]
        texts += refusals.map { UserShare.sentence($0, above, hyphen, line) }
        texts.append(
            UserRevoke.sentence(.clocks(own: end, redis: end), of: one, settings.vending.roles.main, line))
        #expect(texts.map { Self.commands(in: $0).count } == [1, 2, 1, 1, 1, 1, 1, 1, 1])
        for words in texts.flatMap({ Self.commands(in: $0) }) {
            guard case .command(let command, let rest) = CommandLineTool.request(Array(words.dropFirst())) else {
                Issue.record("\(words)")
                continue
            }
            let options = try Options(rest, of: command.syntax)
            #expect(options.operands.count == 2 && options.operands.last == file, "\(words)")
        }
    }

    @Test func `of an end that was brought forward it says until when new credentials read`() throws {
        let line = UserCommandLine(settings: try Self.settings(subjects: "plain"), file: "s.json5")
        let text = UserSharing.sentence(
            [try #require(UserID("u_2"))], line, after: Date(timeIntervalSince1970: 1_800_000_000))
        #expect(text.hasPrefix("no credentials vended to u_2 from now on read that after 2027-01-15T08:00:00Z; those"))
        #expect(text.hasSuffix(": cloakroom user revoke u_2 --keep-enabled --apply s.json5"))
    }

    @Test func `a proposed command is quoted, and insists on an id that no token can have`() throws {
        let line = UserCommandLine(settings: try Self.settings(), file: "my s.json5")
        let (alice, hyphen) = (try #require(UserID("alice")), try #require(UserID("-h")))
        let mapped = try #require(UserID(Self.mapped))
        #expect(line.proposal(UserDisable.self, mapped) == "cloakroom user disable \(Self.mapped) 'my s.json5'")
        #expect(line.proposal(UserDisable.self, alice) == "cloakroom user disable alice --any-id 'my s.json5'")
        #expect(line.proposal(UserShares.self, alice, ["--json"]) == "cloakroom user shares alice --json 'my s.json5'")
        #expect(line.proposal(UserDisable.self, hyphen) == "cloakroom user disable --any-id -- -h 'my s.json5'")
    }
}
