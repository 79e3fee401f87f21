import CloakroomAWS

/// Which of the keys that clients name are sent to S3, and as what.
struct KeyRules: Sendable {
    enum Decision: Equatable {
        /// The whole key.
        case send(String)
        /// No object of ours has such a key.
        case invalid
        /// Outside the user's own folders, or one of Cloakroom's own objects.
        case outsideFolders
    }

    private let prefix: String
    private let keys: Settings.Renewal.Keys
    private let ownFolders: [String]?
    /// Where images of chats are, none of which is renewed.
    private let chatPrefix: String?
    /// Where the object of a name is looked for; one where keys are more than names.
    private let searchPrefixes: [String]
    /// Where a name is looked for first that stands alone; `nil` where all prefixes are Cloakroom's own.
    private let firstSearchPrefix: String?
    /// Whether two different keys may lead to one object.
    let mayCoincide: Bool

    init(_ settings: Settings.Renewal) {
        prefix = settings.keyPrefix
        keys = settings.keys
        ownFolders = settings.ownFolders
        chatPrefix = settings.chatKeyPrefix
        let all = keys == .names && ownFolders == nil ? settings.searchPrefixes : [prefix]
        searchPrefixes = all.filter { !ReservedKeys.hold($0) }
        mayCoincide = keys == .names && ownFolders == nil && searchPrefixes != [""]
        firstSearchPrefix = searchPrefixes.contains("") ? "" : searchPrefixes.first
    }

    /// The user's own folders, made once for all keys of a request; `nil` where keys may stand anywhere.
    ///
    /// - Parameter user: whose request it is; `nil` for a request without a user.
    func folders(of user: UserID?) -> [String]? {
        guard let ownFolders else { return nil }
        guard let user else { return [] }
        return ownFolders.map { "\($0)\(user.text)/" }
    }

    /// - Parameter folders: ``folders(of:)``.
    func decision(_ key: String, in folders: [String]?) -> Decision {
        guard folders == nil, keys == .names else {
            return wholeDecision(prefix.isEmpty ? key : prefix + key, folders)
        }
        guard let firstSearchPrefix else { return .outsideFolders }
        if Self.isName(key.utf8[...]) {
            guard !ReservedKeys.isReserved(key.utf8) else { return .outsideFolders }
            return .send(firstSearchPrefix.isEmpty ? key : firstSearchPrefix + key)
        }
        guard !ReservedKeys.hold(key), !isOfChats(key) else { return .outsideFolders }
        let (folder, name) = Self.prefixAndName(of: key)
        guard Self.isName(name), searchPrefixes.contains(where: { $0.utf8.elementsEqual(folder) }) else {
            return .invalid
        }
        return .send(key)
    }

    /// Where a key leads that stands behind ``Settings/Renewal/keyPrefix``.
    private func wholeDecision(_ whole: String, _ folders: [String]?) -> Decision {
        guard !isOfChats(whole) else { return .outsideFolders }
        guard let folders else {
            guard !ReservedKeys.hold(whole) else { return .outsideFolders }
            return isAllowed(whole.utf8.dropFirst(prefix.utf8.count), in: whole) ? .send(whole) : .invalid
        }
        guard let (folder, rest) = Self.folderAndRest(of: whole, in: folders), !ReservedKeys.hold(folder) else {
            return .outsideFolders
        }
        guard isAllowed(rest, in: whole) else { return .invalid }
        return Self.mayClimb(rest) ? .outsideFolders : .send(whole)
    }

    /// Whether a key names an image of a chat, plain or as something on the way to the store may read it.
    private func isOfChats(_ key: String) -> Bool {
        guard let chatPrefix else { return false }
        if key.utf8.starts(with: chatPrefix.utf8) { return true }
        var path: [ArraySlice<UInt8>] = []
        for segment in KeySegments.of(key.utf8[...]) where !segment.isEmpty && !segment.elementsEqual(".".utf8) {
            if segment.elementsEqual("..".utf8) { _ = path.popLast() } else { path.append(segment) }
        }
        let place = chatPrefix.utf8.split(separator: UInt8(ascii: "/"))
        return path.count >= place.count && zip(path, place).allSatisfy { $0.elementsEqual($1) }
    }

    /// Where an image of a chat would be with the name that was sent; `nil` where a key is more than a name, and where there
    /// are no such images.
    func chatKey(of sent: String) -> String? {
        guard let chatPrefix, ownFolders == nil else { return nil }
        let name =
            keys == .names ? Self.prefixAndName(of: sent).name : sent.utf8.dropFirst(prefix.utf8.count)
        return Self.isName(name) ? chatPrefix + String(Substring(name)) : nil
    }

    /// Where else the object may be of a key that was sent, in the order of the prefixes.
    func others(than sent: String) -> [String] {
        guard searchPrefixes.count > 1 else { return [] }
        let (folder, name) = Self.prefixAndName(of: sent)
        return searchPrefixes.filter { !$0.utf8.elementsEqual(folder) }.map { $0 + String(Substring(name)) }
    }

    /// Under which prefix a key stands that was sent: permissions are granted by prefix.
    func prefix(of sent: String) -> String {
        if let ownFolders {
            let around = ownFolders.filter { sent.utf8.starts(with: $0.utf8) }
            return around.max { $0.utf8.count < $1.utf8.count } ?? prefix
        }
        return keys == .names ? String(Substring(Self.prefixAndName(of: sent).prefix)) : prefix
    }

    /// What stands up to the last slash, with it, and what stands behind it.
    private static func prefixAndName(of key: String) -> (prefix: Substring.UTF8View, name: Substring.UTF8View) {
        let start = key.utf8.lastIndex(of: UInt8(ascii: "/")).map { key.utf8.index(after: $0) } ?? key.startIndex
        return (key.utf8[..<start], key.utf8[start...])
    }

    /// The folder in which a key stands, and what stands behind it; compared byte by byte, for `hasPrefix` takes other
    /// spellings for the same.
    private static func folderAndRest(
        of key: String, in folders: [String]
    ) -> (folder: String, rest: Substring.UTF8View)? {
        for folder in folders where key.utf8.starts(with: folder.utf8) {
            return (folder, key.utf8.dropFirst(folder.utf8.count))
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
        guard (1...255).contains(bytes.count), let first = bytes.first, isAlphanumeric(first) else {
            return false
        }
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
        KeySegments.of(name).contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
    }
}

/// The keys of objects that Cloakroom stores for itself: canaries, the doctor's, those of validations, and what renewals
/// are tested with. No client renews them, whatever keys it may name.
package enum ReservedKeys {
    /// Path components, each with its `/`.
    package static let folders = [canaryFolder, doctorFolder]
    package static let canaryFolder = "cloakroom-canary/"
    package static let doctorFolder = "cloakroom-doctor/"
    /// What the folder of a validation begins with; its id follows.
    package static let validationStart = "cloakroom-validation-"

    /// Whether a key names one of them, under whatever prefix: by one of its path components, plain or encoded once more.
    static func hold(_ key: String) -> Bool {
        let isPath = key.utf8.contains { byte in
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "%")
        }
        return isPath ? KeySegments.of(key.utf8[...]).contains { isReserved($0) } : isReserved(key.utf8)
    }

    /// Which of their folders a prefix of plain names is or lies in, such as `assets/cloakroom-canary/`.
    ///
    /// - Returns: `nil` for a prefix that is in none; it may hold some, as `""` and `assets/` do.
    static func folder(around prefix: String) -> String? {
        var rest = prefix.utf8[...]
        while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            let next = prefix.utf8.index(after: slash)
            if isReserved(rest[..<slash]) { return String(Substring(prefix.utf8[..<next])) }
            rest = prefix.utf8[next...]
        }
        return nil
    }

    /// Whether the component of a path belongs to them.
    static func isReserved(_ component: some Collection<UInt8>) -> Bool {
        guard component.starts(with: "cloakroom-".utf8) else { return false }
        // The doctor's users and missing objects begin so.
        return component.elementsEqual(S3Client.testObjectName.utf8) || component.starts(with: "cloakroom-doctor".utf8)
            || component.starts(with: validationStart.utf8)
            || folders.contains { component.elementsEqual($0.utf8.dropLast()) }
    }
}

/// A key as what lies between it and the store may read it.
enum KeySegments {
    /// What stands between slashes and backslashes; dots, slashes and backslashes count that are encoded once more.
    static func of(_ key: Substring.UTF8View) -> [ArraySlice<UInt8>] {
        let (dot, slash) = (UInt8(ascii: "."), UInt8(ascii: "/"))
        var text: [UInt8] = []
        text.reserveCapacity(key.count)
        // Bytes, not characters: a mark that combines with the `/` before it would hide it.
        var rest = key
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
    }
}
