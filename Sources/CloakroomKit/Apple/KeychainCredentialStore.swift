#if canImport(Security)
    import Foundation

    /// Keeps credentials in the Keychain of this device: readable from the first unlock after a start on, so that work in
    /// the background can continue, and never in iCloud, in a backup or on another device.
    ///
    /// On macOS it is the data protection keychain, for which the app must be signed.
    public struct KeychainCredentialStore: CredentialStore {
        private let record: KeychainRecord
        /// Of an earlier version of the kit, which did not name the endpoint.
        private let formerRecord: KeychainRecord

        /// - Parameters:
        ///   - owner: whose credentials they are; each user of each endpoint has a record of their own.
        ///   - service: what the records of this app are called.
        ///   - accessGroup: shared by apps and extensions that may read the record; `nil` for this app's own.
        public init(owner: StoreOwner, service: String = "Cloakroom credentials", accessGroup: String? = nil) {
            record = KeychainRecord(
                service: service, account: String(decoding: owner.bytes, as: UTF8.self), accessGroup: accessGroup)
            formerRecord = KeychainRecord(service: service, account: owner.user, accessGroup: accessGroup)
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``, also before the first unlock.
        public func load() async throws -> StoredCredentials? {
            try converted { () throws(KeychainError) in try record.read().map { StoredCredentials(bytes: $0) } }
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``; what was there before is there still.
        public func save(_ credentials: StoredCredentials) async throws {
            try converted { () throws(KeychainError) in try record.write(credentials.bytes) }
            // It may never be found again, and does no harm.
            try? formerRecord.remove()
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``.
        public func clear() async throws {
            try converted { () throws(KeychainError) in
                try record.remove()
                try formerRecord.remove()
            }
        }

        private func converted<Value>(
            _ work: () throws(KeychainError) -> Value
        ) throws(CloakroomError) -> Value {
            do throws(KeychainError) { return try work() } catch { throw CloakroomError(.storeFailed, error.message) }
        }
    }
#endif
