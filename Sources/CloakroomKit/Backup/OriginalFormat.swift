/// The format of a photo's bytes, stored with the photo: the key does not have it, and restored files are named by it.
package enum OriginalFormat {
    /// Of the object's metadata, as Photolala's apps read it.
    package static let field = "original-format"

    /// Whether it can be a file's extension everywhere.
    package static func isValid(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }
}
