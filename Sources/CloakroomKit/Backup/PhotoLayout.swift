/// Where a user's photos lie in the bucket.
///
/// The prefixes are those of the worker's scopes: a user's credentials open these and no others.
public struct PhotoLayout: Sendable, Equatable {
    public let userID: String

    /// - Parameter userID: as the worker names the user: 1 to 64 of `A–Z a–z 0–9 _ -`.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest``.
    public init(userID: String) throws {
        guard (1...64).contains(userID.utf8.count), userID.utf8.allSatisfy(Self.isWord) else {
            throw CloakroomError(.invalidRequest, "a user id is 1 to 64 letters, digits, hyphens and underscores")
        }
        self.userID = userID
    }

    public var photos: String { "photos/\(userID)/" }
    public var thumbnails: String { "thumbnails/\(userID)/" }
    public var metadata: String { "metadata/\(userID)/" }
    /// Where the worker's `vending.prefixes` has it, as tiers need it.
    public var catalogs: String { "catalogs/\(userID)/" }
    /// Where the worker's `vending.prefixes` has `users`.
    public var profile: String { "users/\(userID)/profile.json" }

    /// - Parameter md5: of the photo's bytes, 32 hexadecimal digits in lower case.
    public func photo(md5: String) throws -> String { "\(photos)\(try Self.checked(md5: md5)).dat" }

    /// - Parameter md5: of the photo's bytes, not of the thumbnail's.
    public func thumbnail(md5: String) throws -> String { "\(thumbnails)\(try Self.checked(md5: md5)).jpg" }

    /// - Parameter name: such as `2026.json`: letters, digits, `.`, `_` and `-`, not beginning with a dot.
    public func metadata(named name: String) throws -> String { metadata + (try Self.checked(name: name)) }

    /// - Parameter name: as for ``metadata(named:)``.
    public func catalog(named name: String) throws -> String { catalogs + (try Self.checked(name: name)) }

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
