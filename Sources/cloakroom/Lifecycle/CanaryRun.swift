import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One look after the canaries of a host.
@LoopActor
final class CanaryRun {
    private(set) var canaries: Canaries
    private(set) var findings: [Canaries.FailedCanary] = []
    private let s3: S3Client
    private let prefix: String
    /// Where an earlier version kept the canaries of this host; `nil` for the same place.
    private let formerPrefix: String?

    struct LedgerError: Error, CustomStringConvertible {
        let description: String
    }

    init(_ canaries: Canaries, s3: S3Client, prefix: String, formerPrefix: String?) {
        self.canaries = canaries
        self.s3 = s3
        self.prefix = prefix
        self.formerPrefix = formerPrefix
    }

    /// What it does may be done again: a run that was killed is made up for by the next.
    func run() async throws {
        let tag = try await readLedger()
        findings = canaries.compare(with: try await present(), now: Date())
        for canary in canaries.renewals(Date()) { try await renew(canary) }
        for canary in canaries.survivors(Date()) { try await prove(canary) }
        for role in canaries.missing(Date()) { try await make(role) }
        try await writeLedger(tag)
    }

    private var deadline: ContinuousClock.Instant { .now + SettingsCommandLine.requestDeadline }

    private func address(_ key: String) throws(AWSError) -> ObjectAddress {
        guard let address = ObjectAddress(key: key) else { throw AWSError(.refused, code: "InvalidKey") }
        return address
    }

    private func key(_ canary: Canaries.Canary) -> String {
        (canary.isFormer ? formerPrefix ?? prefix : prefix) + Canaries.name(canary.role, canary.day)
    }

    // MARK: The ledger

    private static let ledger = "ledger.json"

    /// - Returns: the entity tag of what was read; `nil` when there is none yet.
    private func readLedger() async throws -> String? {
        if let tag = try await readLedger(at: prefix) { return tag }
        // Once: from then on the canaries there are in the new ledger.
        if let formerPrefix { _ = try await readLedger(at: formerPrefix, isFormer: true) }
        return nil
    }

    private func readLedger(at prefix: String, isFormer: Bool = false) async throws -> String? {
        let key = prefix + Self.ledger
        guard let found = try await s3.get(address(key), deadline: deadline) else { return nil }
        guard let json = try? JSON(parsing: found.body), canaries.read(json, isFormer: isFormer) else {
            throw LedgerError(
                description: "\(key) is no ledger of this command, or of days of another length; "
                    + "delete it, or give another --name")
        }
        return found.object.entityTag
    }

    /// Two runs for one name at once would each forget what the other did.
    private func writeLedger(_ tag: String?) async throws {
        do throws(AWSError) {
            try await s3.put(
                address(prefix + Self.ledger), body: Array(canaries.ledger.text.utf8), contentType: "application/json",
                condition: tag.map { .ifMatch(entityTag: $0) } ?? .ifNoneMatch, deadline: deadline)
        } catch {
            guard error.status == 412 || error.status == 409 else { throw error }
            throw LedgerError(
                description: "another run changed \(prefix)\(Self.ledger) meanwhile; give each host a --name of its own"
            )
        }
    }

    private func present() async throws(AWSError) -> Set<String> {
        let names = try await names(at: prefix)
        guard let formerPrefix, canaries.canaries.contains(where: \.isFormer) else { return names }
        return names.union(try await self.names(at: formerPrefix).map { Canaries.formerMark + $0 })
    }

    private func names(at prefix: String) async throws(AWSError) -> Set<String> {
        var names: Set<String> = []
        var position = S3Client.ListPosition.start
        // A page has a thousand; there are some sixty.
        for _ in 0..<100 {
            let page = try await s3.list(prefix: prefix, from: position, deadline: deadline)
            // Bytes, not characters: a mark that combines with the prefix's `/` is part of the name.
            names.formUnion(page.entries.map { String(Substring($0.key.utf8.dropFirst(prefix.utf8.count))) })
            guard let next = page.continuation else { return names }
            position = .continuation(next)
        }
        throw AWSError(.refused, code: "TooManyCanaries")
    }

    // MARK: The canaries

    /// What one holds; nothing about anybody.
    private func content(_ key: String) -> [UInt8] { Array("\(key)\n".utf8) }

    private func make(_ role: Canaries.Role) async throws(AWSError) {
        let now = Date()
        let key = prefix + Canaries.name(role, canaries.clock.startOfDay(now))
        let object = try address(key)
        try await s3.put(object, body: content(key), contentType: "text/plain; charset=utf-8", deadline: deadline)
        guard let written = try await s3.head(object, deadline: deadline)?.lastModified else {
            throw AWSError(.transient, code: "NotThere")
        }
        canaries.made(role, now: now, written: written)
    }

    private func renew(_ canary: Canaries.Canary) async throws(AWSError) {
        let object = try address(key(canary))
        switch await s3.renew(key: key(canary), deadline: deadline).outcome {
        case .renewed, .recentlyWritten: break
        case .unavailable(let retryAfter, let code): throw AWSError(.transient, code: code, retryAfter: retryAfter)
        case .notFound: return report(canary, .early, "went while it was being renewed")
        case .archived: return report(canary, .renewal, "lies in an archive tier, from where nothing is renewed")
        case .invalidKey: return report(canary, .renewal, "has a key that the store does not take")
        case .unrenewableObject(let code), .accessDenied(let code), .refused(let code), .misconfigured(let code):
            return report(canary, .renewal, "was not renewed: the store said \(code)")
        }
        guard let written = try await s3.head(object, deadline: deadline)?.lastModified else {
            return report(canary, .lost, "is gone, though it was just renewed")
        }
        if let finding = canaries.renewed(canary, written: written) { findings.append(finding) }
    }

    private func prove(_ canary: Canaries.Canary) async throws(AWSError) {
        let found = try await s3.get(address(key(canary)), deadline: deadline)
        if found?.body == content(key(canary)) { return canaries.survived(canary, now: Date()) }
        report(
            canary, found == nil ? .lost : .spoilt, found == nil ? "is gone, though it was renewed" : "has other bytes")
        canaries.drop(canary)
    }

    private func report(_ canary: Canaries.Canary, _ failure: Canaries.Failure, _ text: String) {
        findings.append(.init(failure: failure, text: "\(canary.name) \(text)"))
    }
}
