#if canImport(Security)
    package import Foundation
    import Security

    /// A value in the Keychain of this device: readable from the first unlock after a start on, and never in iCloud, in a
    /// backup or on another device.
    package struct KeychainRecord: Sendable {
        private let service: String
        private let account: String
        private let accessGroup: String?

        /// - Parameter accessGroup: shared by apps and extensions that may read it; `nil` for this app's own.
        package init(service: String, account: String, accessGroup: String?) {
            self.service = service
            self.account = account
            self.accessGroup = accessGroup
        }

        /// - Returns: `nil` when there is none.
        package func read() throws(KeychainError) -> Data? {
            var query = self.query
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            switch status {
            case errSecSuccess: return found as? Data
            case errSecItemNotFound: return nil
            default: throw KeychainError("read", status)
            }
        }

        /// When it throws, what was there before is there still.
        package func write(_ value: Data) throws(KeychainError) {
            var status = update(value)
            if status == errSecItemNotFound {
                status = SecItemAdd(query.merging(content(value)) { _, new in new } as CFDictionary, nil)
                // Another process of the app was faster.
                if status == errSecDuplicateItem { status = update(value) }
            }
            guard status == errSecSuccess else { throw KeychainError("written", status) }
        }

        /// Does nothing when there is none.
        package func remove() throws(KeychainError) {
            let status = SecItemDelete(query as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw KeychainError("removed", status)
            }
        }

        private func update(_ value: Data) -> OSStatus {
            SecItemUpdate(query as CFDictionary, content(value) as CFDictionary)
        }

        /// What finds the record, and nothing else's.
        private var query: [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecAttrAccount as String: account, kSecAttrSynchronizable as String: false,
                kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private func content(_ value: Data) -> [String: Any] {
            [
                kSecValueData as String: value,
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
        }
    }

    package struct KeychainError: Error {
        /// What was not done, such as "read".
        private let verb: String
        private let status: OSStatus

        fileprivate init(_ verb: String, _ status: OSStatus) {
            self.verb = verb
            self.status = status
        }

        /// Whether it can be used later: the device was not unlocked since it started.
        package var isLocked: Bool { status == errSecInteractionNotAllowed }

        package var message: String {
            let reason = SecCopyErrorMessageString(status, nil).map { $0 as String } ?? "no reason given"
            return "the Keychain's record could not be \(verb): \(reason) (\(status))"
        }
    }
#endif
