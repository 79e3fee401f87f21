/// Where a user's photos lie in the bucket.
///
/// The prefixes are those of the worker's scopes: a user's credentials open these and no others.
public struct PhotoLayout: Sendable, Equatable {
    public let userID: String
    public private(set) var photos: String
    public private(set) var thumbnails: String
    public let metadata: String
    /// Where the worker's `vending.prefixes` has it, as tiers need it.
    public let catalogs: String
    /// Where the worker's `vending.prefixes` has `users`.
    public let profile: String

    /// The layout that credentials open.
    ///
    /// - Parameters:
    ///   - credentials: from ``CredentialProvider/credentials()``. A folder that the worker does not name lies where it
    ///     usually does, and S3 denies access to it.
    ///   - userID: used where the worker sends neither user nor prefixes, as earlier ones do: ``Session/userID``.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidResponse`` for prefixes that cannot be used, or without
    ///   one for `photos`; ``CloakroomError/Code/invalidRequest`` where no user is known.
    public init(vended credentials: VendedCredentials, userID: String? = nil) throws {
        let vended = try credentials.checked()
        guard let user = vended.userID ?? userID else {
            throw CloakroomError(.invalidRequest, "The worker does not name the user: pass the session's user id")
        }
        let prefixes = vended.prefixes
        if let prefixes, prefixes["photos"] == nil {
            throw CloakroomError(
                .invalidResponse, "The credentials open no photos: name `photos` in the worker's `vending.prefixes`")
        }
        try self.init(userID: user, prefixes: prefixes ?? [:])
    }

    /// The usual layout, for workers that do not send the prefixes with the credentials.
    ///
    /// - Parameter userID: as the worker names the user: 1 to 64 of `A–Z a–z 0–9 _ -`.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest``.
    public init(userID: String) throws { try self.init(userID: userID, prefixes: [:]) }

    /// - Parameter prefixes: by the names that the worker has for them.
    init(userID: String, prefixes: [String: String]) throws {
        guard VendedCredentials.isUserID(userID) else {
            throw CloakroomError(.invalidRequest, "a user id is 1 to 64 letters, digits, hyphens and underscores")
        }
        self.userID = userID
        photos = prefixes["photos"] ?? "photos/\(userID)/"
        thumbnails = prefixes["thumbnails"] ?? "thumbnails/\(userID)/"
        metadata = prefixes["metadata"] ?? "metadata/\(userID)/"
        catalogs = prefixes["catalogs"] ?? "catalogs/\(userID)/"
        profile = (prefixes["users"] ?? "users/\(userID)/") + "profile.json"
    }

    /// - Parameter md5: of the photo's bytes, 32 hexadecimal digits in lower case.
    public func photo(md5: String) throws -> String { "\(photos)\(try Self.checked(md5: md5)).dat" }

    /// - Parameter md5: of the photo's bytes, not of the thumbnail's.
    public func thumbnail(md5: String) throws -> String { "\(thumbnails)\(try Self.checked(md5: md5)).jpg" }

    /// - Parameter name: such as `2026.json`: letters, digits, `.`, `_` and `-`, not beginning with a dot.
    public func metadata(named name: String) throws -> String { metadata + (try Self.checked(name: name)) }

    /// - Parameter name: as for ``metadata(named:)``.
    public func catalog(named name: String) throws -> String { catalogs + (try Self.checked(name: name)) }

    /// Where `CloakroomTiers` keeps its photos and their thumbnails: in folders of their own below these.
    ///
    /// A tier deletes what the user removes from it; backups and outboxes neither find nor store anything there.
    package var ofTiers: PhotoLayout {
        var layout = self
        layout.photos += "tiers/"
        layout.thumbnails += "tiers/"
        return layout
    }

    /// - Returns: the MD5 in the key of one of this user's photos; `nil` for any other key.
    public func md5(ofPhoto key: String) -> String? {
        guard key.hasPrefix(photos), key.hasSuffix(".dat") else { return nil }
        return try? Self.checked(md5: String(key.dropFirst(photos.count).dropLast(4)))
    }

    private static func checked(md5: String) throws -> String {
        let isMD5 =
            md5.utf8.count == 32
            && md5.utf8.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
        guard isMD5 else {
            throw CloakroomError(.invalidRequest, "an MD5 is 32 hexadecimal digits in lower case")
        }
        return md5
    }

    private static func checked(name: String) throws -> String {
        guard (1...200).contains(name.utf8.count), name.utf8.first != UInt8(ascii: "."),
            name.utf8.allSatisfy({ isWord($0) || $0 == UInt8(ascii: ".") })
        else { throw CloakroomError(.invalidRequest, "a name is letters, digits, dots, hyphens and underscores") }
        return name
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}
