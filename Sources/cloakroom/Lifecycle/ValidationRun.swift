import CloakroomAWS
import CloakroomOperations
import CloakroomWire
import Glibc
import CloakroomLoop
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Does what a validation says is next, and keeps what came of it.
@LoopActor
final class ValidationRun {
    private(set) var validation: LifecycleValidation
    private let s3: S3Client
    private let file: StateFile
    private let progress = ProgressLine()

    init(_ validation: LifecycleValidation, s3: S3Client, file: StateFile) {
        self.validation = validation
        self.s3 = s3
        self.file = file
    }

    /// - Parameter once: ends as soon as nothing is due.
    /// - Returns: `nil` when it is not at its end.
    func go(once: Bool) async throws -> LifecycleValidation.Verdict? {
        while true {
            let step = validation.next(Date())
            if case .finish(let verdict) = step {
                progress.clear()
                return verdict
            }
            if case .wait(let until, let what) = step {
                if once {
                    Output.note("waiting for \(what); next at \(until.wireText)")
                    return nil
                }
                await wait(until, what)
                continue
            }
            do throws(AWSError) {
                try await take(step)
            } catch {
                // Of several objects some were seen; one that went early is not to be seen again, later.
                try file.write(validation.state)
                guard !once, error.kind == .transient || error.kind == .throttled else { throw error }
                Output.note("S3: \(error.code); trying again")
                try await LoopActor.sleep(for: .seconds(min(60, max(1, validation.margin))))
            }
            try file.write(validation.state)
        }
    }

    private var deadline: ContinuousClock.Instant { .now + SettingsCommandLine.requestDeadline }

    private func take(_ step: LifecycleValidation.Step) async throws(AWSError) {
        switch step {
        case .prepare: try await prepare()
        case .upload(let index): try await upload(index)
        case .renew(let index): try await renew(index)
        case .look: try await look()
        case .wait, .finish: break
        }
    }

    // MARK: The bucket

    private var ruleID: String { "cloakroom-validation-\(validation.plan.id)" }

    private func prepare() async throws(AWSError) {
        let plan = validation.plan
        if plan.ownsBucket { _ = try await s3.createBucket(deadline: deadline) }
        let former = try await s3.lifecycle(deadline: deadline)
        let everything = former.rules.filter { $0.isEnabled && $0.filter.isEverything && $0.expirationDays != nil }
        if !plan.ownsBucket, let rule = everything.min(by: { $0.expirationDays ?? 0 < $1.expirationDays ?? 0 }),
            let days = rule.expirationDays
        {
            validation.prepared(rule: "the bucket's own: " + LifecycleDescription.rule(rule), days: days)
            return
        }
        // What else lies in a bucket that is not ours is not to expire by this.
        let terms = LifecycleTerms(prefixes: [plan.ownsBucket ? "" : plan.prefix], retentionDays: plan.days)
        guard var rule = terms.rules(.never).first else { return }
        rule.xml = XMLNode("Rule", [XMLNode("ID", ruleID)] + rule.xml.elements.filter { $0.name != "ID" })
        var lifecycle = former
        lifecycle.rules = former.rules.filter { $0.id != ruleID } + [rule]
        try await s3.put(lifecycle, inPlaceOf: former, deadline: deadline)
        validation.prepared(rule: LifecycleDescription.rule(rule), days: plan.days)
        Output.note("the rule is put: \(LifecycleDescription.rule(rule))")
    }

    /// Deletes what the run has made. Doing it twice does no harm.
    func tidy() async throws(AWSError) {
        do throws(AWSError) {
            for object in validation.objects {
                if let address = ObjectAddress(key: object.key) { try await s3.delete(address, deadline: deadline) }
            }
            if validation.plan.ownsBucket { return try await s3.deleteBucket(deadline: deadline) }
        } catch {
            guard validation.plan.ownsBucket, error.code == "NoSuchBucket" else { throw error }
            return
        }
        let lifecycle = try await s3.lifecycle(deadline: deadline)
        var rest = lifecycle
        rest.rules.removeAll { $0.id == ruleID }
        if rest.rules.count == lifecycle.rules.count { return }
        if rest.rules.isEmpty {
            try await s3.deleteLifecycle(deadline: deadline)
        } else {
            try await s3.put(rest, inPlaceOf: lifecycle, deadline: deadline)
        }
    }

    // MARK: The objects

    private func address(_ index: Int) throws(AWSError) -> ObjectAddress {
        guard let address = ObjectAddress(key: validation.objects[index].key) else {
            throw AWSError(.refused, code: "InvalidKey")
        }
        return address
    }

    private func upload(_ index: Int) async throws(AWSError) {
        let object = try address(index)
        try await s3.put(
            object, body: validation.content(index), contentType: "text/plain; charset=utf-8", deadline: deadline)
        guard let stored = try await s3.head(object, deadline: deadline), let written = stored.lastModified else {
            throw AWSError(.transient, code: "NotThere")
        }
        validation.uploaded(index, written: written, toldExpiration: stored.expiration)
        if index == validation.objects.count - 1, let end = validation.controlsExpire {
            Output.note("\(index + 1) objects are uploaded; without a renewal they expire at \(end.wireText)")
        }
    }

    private func renew(_ index: Int) async throws(AWSError) {
        let object = try address(index)
        let key = validation.objects[index].key
        switch await s3.renew(key: key, deadline: deadline).outcome {
        case .renewed, .recentlyWritten: break
        case .notFound: return validation.missed(index, at: Date())
        case .archived:
            return validation.recordProblem(index, "it lies in an archive tier, from where nothing is renewed")
        case .invalidKey: return validation.recordProblem(index, "the store does not take its key")
        case .unrenewableObject(let code), .accessDenied(let code), .refused(let code), .misconfigured(let code):
            return validation.recordProblem(index, "the store refused to renew it (\(code))")
        case .unavailable(let retryAfter, let code):
            throw AWSError(.transient, code: code, retryAfter: retryAfter)
        }
        guard let stored = try await s3.head(object, deadline: deadline), let written = stored.lastModified else {
            return validation.missed(index, at: Date())
        }
        validation.renewed(index, at: Date(), written: written, toldExpiration: stored.expiration)
        Output.note("\(key) is renewed: LastModified is now \(written.wireText)")
    }

    private func look() async throws(AWSError) {
        for index in validation.objects.indices where validation.objects[index].missed == nil {
            if let found = try await s3.get(address(index), deadline: deadline) {
                validation.saw(index, at: Date(), isIntact: found.body == validation.content(index))
            } else {
                validation.missed(index, at: Date())
                Output.note("\(validation.objects[index].key) is gone")
            }
        }
        validation.looked(at: Date())
    }

    // MARK: Waiting

    private func wait(_ until: Date, _ what: String) async {
        while true {
            let left = until.timeIntervalSinceNow
            if left <= 0 { return }
            progress.show(Self.status(validation, what, left))
            try? await LoopActor.sleep(for: .milliseconds(Int64(min(left, 1) * 1000) + 1))
        }
    }

    private static func status(_ validation: LifecycleValidation, _ what: String, _ left: TimeInterval) -> String {
        let gone = validation.controls.count { $0.missed != nil }
        let end = validation.controlsExpire.map { ", at \($0.wireText)" } ?? ""
        return "waiting for \(what)\(end); \(gone) of \(validation.controls.count) are gone; next look in "
            + TimeSpan.text(left)
    }
}
