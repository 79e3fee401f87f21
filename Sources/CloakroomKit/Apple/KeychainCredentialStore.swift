#if canImport(Security)
    import Foundation
    import Security

    /// Keeps credentials in the Keychain of this device: readable from the first unlock after a start on, so that work in
    /// the background can continue, and never in iCloud, in a backup or on another device.
    ///
    /// On macOS it is the data protection keychain, for which the app must be signed.
    public struct KeychainCredentialStore: CredentialStore {
        private let user: String
        private let account: String
        private let service: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - owner: whose credentials they are; each user of each endpoint has a record of their own.
        ///   - service: what the records of this app are called.
        ///   - accessGroup: shared by apps and extensions that may read the record; `nil` for this app's own.
        public init(owner: StoreOwner, service: String = "Cloakroom credentials", accessGroup: String? = nil) {
            user = owner.user
            account = String(decoding: owner.bytes, as: UTF8.self)
            self.service = service
            self.accessGroup = accessGroup
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``, also before the first unlock.
        public func load() async throws -> StoredCredentials? {
            var query = record
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            switch status {
            case errSecSuccess: return (found as? Data).map { StoredCredentials(bytes: $0) }
            case errSecItemNotFound: return nil
            default: throw failure("read", status)
            }
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``; what was there before is there still.
        public func save(_ credentials: StoredCredentials) async throws {
            var status = update(credentials)
            if status == errSecItemNotFound {
                status = SecItemAdd(record.merging(content(credentials)) { _, new in new } as CFDictionary, nil)
                // Another process of the app was faster.
                if status == errSecDuplicateItem { status = update(credentials) }
            }
            guard status == errSecSuccess else { throw failure("written", status) }
            // It may never be found again, and does no harm.
            _ = SecItemDelete(formerRecord as CFDictionary)
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``.
        public func clear() async throws {
            for record in [record, formerRecord] {
                let status = SecItemDelete(record as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else { throw failure("removed", status) }
            }
        }

        private func update(_ credentials: StoredCredentials) -> OSStatus {
            SecItemUpdate(record as CFDictionary, content(credentials) as CFDictionary)
        }

        /// What finds the record, and nothing else's.
        private var record: [String: Any] { record(account) }

        /// Of an earlier version of the kit, which did not name the endpoint.
        private var formerRecord: [String: Any] { record(user) }

        private func record(_ account: String) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecAttrAccount as String: account, kSecAttrSynchronizable as String: false,
                kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private func content(_ credentials: StoredCredentials) -> [String: Any] {
            [
                kSecValueData as String: credentials.bytes,
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
        }

        private func failure(_ verb: String, _ status: OSStatus) -> CloakroomError {
            let reason = SecCopyErrorMessageString(status, nil).map { $0 as String } ?? "no reason given"
            return CloakroomError(.storeFailed, "the Keychain's record could not be \(verb): \(reason) (\(status))")
        }
    }
#endif
