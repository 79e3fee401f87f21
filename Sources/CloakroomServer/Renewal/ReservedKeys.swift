import CloakroomAWS

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
