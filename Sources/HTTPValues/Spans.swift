// `Array.span` and `String.utf8.span` came with iOS 26 and macOS 26; the spans of slices and of buffers work before.

extension String {
    /// Its bytes as a span, for the time of the call.
    @inlinable package func withUTF8Span<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body($0.span) }
    }
}
