/// An object key, compared byte for byte as S3 does.
///
/// Strings of Swift are equal when they look alike: `é` is equal to `e` with an accent, and those are two keys.
struct AssetKey: Hashable, Sendable, Comparable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: AssetKey, right: AssetKey) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    static func < (left: AssetKey, right: AssetKey) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Keys that look alike share a bucket, no more.
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
