extension VendedCredentials {
    /// S3 accepts keys of 1,024 bytes.
    private static let maximumByteCount = 1024
    private static let maximumPrefixCount = 100

    /// Themselves, if the user and the prefixes can be used for keys.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidResponse``.
    func checked() throws(CloakroomError) -> VendedCredentials {
        if let userID, !Self.isUserID(userID) {
            throw CloakroomError(
                .invalidResponse, "The credentials came for a user whose name is none: check the worker.")
        }
        let prefixes = prefixes ?? [:]
        guard prefixes.count <= Self.maximumPrefixCount,
            prefixes.allSatisfy({ $0.key.utf8.count <= Self.maximumByteCount && Self.isPrefix($0.value) })
        else {
            throw CloakroomError(
                .invalidResponse, "The credentials came with a prefix that no key may begin with: check the worker.")
        }
        guard shared.count <= Self.maximumPrefixCount,
            shared.allSatisfy({ Self.isPrefix($0.prefix) && Self.isUserID($0.owner) })
        else {
            throw CloakroomError(
                .invalidResponse, "The credentials came with a shared folder that is none: check the worker.")
        }
        return self
    }

    /// Themselves, if they are this user's, as far as the worker says.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``.
    func checked(belongingTo user: String) throws(CloakroomError) -> VendedCredentials {
        guard userID ?? user == user else {
            throw CloakroomError(
                .storeOwnerMismatch, "The token is another user's: sign in as the user whose files these are")
        }
        return self
    }

    /// 1 to 64 of `A–Z a–z 0–9 _ -`.
    static func isUserID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(PhotoLayout.isWord)
    }

    /// Whole folders, none of which leads elsewhere: `photos/u_1/`.
    private static func isPrefix(_ text: String) -> Bool {
        guard text.utf8.count <= maximumByteCount, text.utf8.last == UInt8(ascii: "/"),
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return false }
        let components = text.utf8.dropLast().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return components.allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
    }
}
