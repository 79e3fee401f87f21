/// Which of the keys that clients name are sent to S3, and as what.
struct KeyRules: Sendable {
    enum Verdict: Equatable {
        /// The whole key.
        case send(String)
        /// No object of ours has such a key.
        case invalid
        /// Perhaps somebody else's.
        case foreign
    }

    private let prefix: String
    private let keys: Settings.Renewal.Keys
    private let ownFolders: [String]?

    init(_ settings: Settings.Renewal) {
        prefix = settings.keyPrefix
        keys = settings.keys
        ownFolders = settings.ownFolders
    }

    /// The user's own folders, made once for all keys of a request; `nil` where keys may stand anywhere.
    ///
    /// - Parameter user: whose request it is; `nil` for nobody's.
    func folders(of user: UserID?) -> [String]? {
        guard let ownFolders else { return nil }
        guard let user else { return [] }
        return ownFolders.map { "\($0)\(user.text)/" }
    }

    /// - Parameter folders: ``folders(of:)``.
    func verdict(_ key: String, in folders: [String]?) -> Verdict {
        let whole = prefix.isEmpty ? key : prefix + key
        guard let folders else { return isAllowed(key.utf8[...], in: whole) ? .send(whole) : .invalid }
        guard let rest = Self.rest(of: whole, in: folders) else { return .foreign }
        guard isAllowed(rest, in: whole) else { return .invalid }
        return Self.mayClimb(rest) ? .foreign : .send(whole)
    }

    /// What stands behind the folder; compared byte by byte, for `hasPrefix` takes other spellings for the same.
    private static func rest(of key: String, in folders: [String]) -> Substring.UTF8View? {
        for folder in folders where key.utf8.starts(with: folder.utf8) {
            return key.utf8.dropFirst(folder.utf8.count)
        }
        return nil
    }

    private func isAllowed(_ name: Substring.UTF8View, in key: String) -> Bool {
        switch keys {
        case .names: Self.isName(name)
        // Amazon S3 User Guide, "Object key names".
        case .any: !name.isEmpty && key.utf8.count <= 1024
        }
    }

    /// 1 to 255 of `A-Z a-z 0-9 . _ -`, the first a letter or a digit: nothing that a URL, a path or S3's copy source
    /// reads in any other way.
    static func isName(_ bytes: Substring.UTF8View) -> Bool {
        guard (1...255).contains(bytes.count), let first = bytes.first, isAlphanumeric(first) else { return false }
        return bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether something on the way to the store may take it for a path out of the folder: a segment of dots, plain or
    /// encoded once more. S3 itself takes neither for anything but a name.
    private static func mayClimb(_ name: Substring.UTF8View) -> Bool {
        let (dot, slash) = (UInt8(ascii: "."), UInt8(ascii: "/"))
        var text: [UInt8] = []
        text.reserveCapacity(name.count)
        // Bytes, not characters: a mark that combines with the `/` before it would hide it.
        var rest = name
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                text.append(byte == UInt8(ascii: "\\") ? slash : byte)
                continue
            }
            let code = rest.prefix(2).map { $0 | 0x20 }
            let isDot = code.elementsEqual("2e".utf8)
            guard isDot || code.elementsEqual("2f".utf8) || code.elementsEqual("5c".utf8) else {
                text.append(byte)
                continue
            }
            text.append(isDot ? dot : slash)
            rest = rest.dropFirst(2)
        }
        return text.split(separator: slash, omittingEmptySubsequences: false)
            .contains { $0.elementsEqual([dot]) || $0.elementsEqual([dot, dot]) }
    }
}
