#if canImport(Security)
    public import CloakroomKit
    public import Foundation

    /// Keeps the master key in the Keychain of this device: readable from the first unlock after a start on, so that
    /// messages can be removed in the background, and never in iCloud, in a backup or on another device.
    ///
    /// On macOS it is the data protection keychain, for which the app must be signed.
    public struct KeychainKeyVault: KeyVault {
        private let record: KeychainRecord

        /// - Parameters:
        ///   - owner: whose messages they are; each user of each endpoint has a record of their own.
        ///   - service: as in ``init(name:service:accessGroup:)``.
        ///   - accessGroup: as there.
        public init(owner: StoreOwner, service: String = "Cloakroom messages", accessGroup: String? = nil) {
            self.init(
                name: String(decoding: owner.bytes, as: UTF8.self), service: service, accessGroup: accessGroup)
        }

        /// For an app that has given a name before, and goes on with it, as the record of another name has no key; and
        /// for one that has no ``StoreOwner``.
        ///
        /// - Parameters:
        ///   - name: of the storage, and of its user; each one has a record of its own.
        ///   - service: what the records of this app are called.
        ///   - accessGroup: shared by apps and extensions that may read the record; `nil` for this app's own. All that open the
        ///     same folder give the same one: in another group there is no record, and opening throws
        ///     ``CloakroomError/Code/vaultLost``.
        public init(name: String, service: String = "Cloakroom messages", accessGroup: String? = nil) {
            record = KeychainRecord(service: service, account: name, accessGroup: accessGroup)
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/vaultLocked`` before the first unlock,
        ///   ``CloakroomError/Code/storeFailed``.
        public func load() async throws -> Data? {
            try converted { () throws(KeychainError) in try record.read() }
        }

        /// - Throws: as ``load()`` does.
        public func store(_ value: Data) async throws {
            try converted { () throws(KeychainError) in try record.write(value) }
        }

        /// - Throws: as ``load()`` does.
        public func erase() async throws {
            try converted { () throws(KeychainError) in try record.remove() }
        }

        private func converted<Value>(
            _ work: () throws(KeychainError) -> Value
        ) throws(CloakroomError) -> Value {
            do throws(KeychainError) { return try work() } catch {
                throw CloakroomError(error.isLocked ? .vaultLocked : .storeFailed, error.message)
            }
        }
    }
#endif
