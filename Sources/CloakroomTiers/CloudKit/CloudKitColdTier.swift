import CloakroomKit
import Foundation

/// Photos in the private CloudKit database of the user's iCloud account.
///
/// Two zones of its own hold a record for each photo, thumbnail and document. A photo's record is named by its digest,
/// so a response that is lost makes no duplicate. CloudKit tells no digest of an asset: what was uploaded is read back
/// once and hashed; afterwards the record's change tag shows that it was not written to.
///
/// A tier works for the account that it sees first. With another one, each function throws
/// `CloakroomError.Code.accountChanged`: make another tier, and another store.
///
/// The schema, which a container needs in production: record types `CloakroomPhoto`, `CloakroomThumbnail` and
/// `CloakroomDocument` with the fields `byteCount` (Int64), `sha256` and `bytes` (Bytes), `format` (String), `asset`
/// (Asset). No index is needed.
public struct CloudKitColdTier: ColdTier {
    let database: CloudDatabase
    /// For what is read back; emptied after each use.
    let scratch: URL

    /// - Parameters:
    ///   - zone: 1 to 100 letters, digits and hyphens; the documents' zone has a longer name.
    ///   - sleep: the waits between attempts.
    ///   - instant: of the monotonic clock.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest`` for another name of a zone.
    init(
        _ container: any CloudContainer, zone: String, scratch: URL = FileManager.default.temporaryDirectory,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws(CloakroomError) {
        guard Self.isZoneName(zone) else {
            throw CloakroomError(.invalidRequest, "a zone's name is 1 to 100 letters, digits and hyphens")
        }
        self.scratch = scratch
        database = CloudDatabase(
            container, session: CloudSession(instant: instant), requests: CloudRequests(sleep: sleep), zone: zone)
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unauthorized`` when no account is signed in,
    ///   ``CloakroomError/Code/accountChanged`` when another one is than before, ``CloakroomError/Code/unavailable``.
    public var identity: TierIdentity {
        get async throws {
            try await converting("reading the iCloud account") { TierIdentity(name(of: try await database.user())) }
        }
    }

    /// CloudKit does not say how much room there is; ``CloakroomError/Code/storageQuotaExceeded`` comes with an upload.
    public func availability() async -> TierAvailability {
        do {
            try await converting("looking for the zone of the photos") {
                if let fault = CloudFault(try await database.container.accountStatus()), fault != .notAuthenticated {
                    throw fault
                }
                for zone in zones {
                    do { try await database.checkZone(zone) } catch CloudFault.zoneNotFound {
                        if await database.session.hasSeen(zone) { throw CloudFault.zoneNotFound }
                    }
                }
            }
            return TierAvailability()
        } catch {
            return TierAvailability(failure: error)
        }
    }

    /// Makes the zones of the photos anew, without what was in them.
    ///
    /// After ``CloakroomError/Code/zoneDeleted`` or ``CloakroomError/Code/encryptedDataReset``, when the user agrees
    /// that photos are uploaded again. A zone that is there stays as it is.
    public func recreateZone() async throws {
        try await converting("making the zone of the photos") {
            for zone in zones {
                do {
                    try await database.checkZone(zone)
                    continue
                } catch CloudFault.encryptedDataReset {
                    // There are no keys any more to what is in it.
                    do { try await database.deleteZone(zone) } catch CloudFault.zoneNotFound {}
                } catch CloudFault.zoneNotFound {
                } catch CloudFault.userDeletedZone {}
                try await database.saveZone(zone)
            }
            await database.session.keep(CloudDocuments())
        }
    }

    private var zones: [String] { [database.photoZone, database.documentZone] }

    func name(of user: String) -> String { "cloudkit:\(database.container.identifier)/\(database.photoZone)/\(user)" }

    /// - Parameter doing: such as `storing photo-…`.
    func converting<Value>(
        _ doing: String, _ body: () async throws -> Value
    ) async throws(CloakroomError) -> Value {
        do {
            return try await body()
        } catch let fault as CloudFault {
            throw CloakroomError(fault, doing: doing)
        } catch {
            throw CloakroomError(of: error, doing)
        }
    }

    /// - Parameter wasProven: what is looked for was there once, and so was its zone.
    /// - Returns: `nil` when what is looked for is surely absent: CloudKit says so, or there never was a zone for it.
    func ifPresent<Value>(
        in zone: String, wasProven: Bool = false, _ body: () async throws -> Value
    ) async throws -> Value? {
        do {
            return try await body()
        } catch CloudFault.unknownItem {
            return nil
        } catch CloudFault.zoneNotFound {
            guard !wasProven, await !database.session.hasSeen(zone) else { throw CloudFault.zoneNotFound }
            return nil
        }
    }

    /// A file for a moment.
    func withScratchFile<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let file = scratch.appendingPathComponent("cloakroom-\(UUID().uuidString)", isDirectory: false)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file)
    }

    private static func isZoneName(_ name: String) -> Bool {
        (1...100).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == UInt8(ascii: "-")
            }
    }
}
