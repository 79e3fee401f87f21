import CloakroomCLinux

/// Follows the name-value pairs of PARAMS across records (§3.4): every pair must lie inside the stream, have a name,
/// and hold no NUL, because libfcgi hands them on as C strings.
struct PairWalker {
    private enum State {
        case nameLength, moreOfNameLength(Int)
        case valueLength, moreOfValueLength(Int)
        case text
    }

    private var state = State.nameLength
    private var nameLength = 0
    private var valueLength = 0
    private var textLeft = 0

    var isBetweenPairs: Bool {
        if case .nameLength = state { true } else { false }
    }

    /// - Returns: whether the pairs are sound so far.
    mutating func walk(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if isBetweenPairs, let end = Self.endOfPair(at: index, in: bytes) {
                index = end
                continue
            }
            if case .text = state {
                let end = min(index + textLeft, bytes.count)
                textLeft -= end - index
                guard !Self.holdsNUL(bytes.extracting(index..<end)) else { return false }
                index = end
                if textLeft == 0 { state = .nameLength }
                continue
            }
            guard takeLength(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    /// Where a pair ends that begins at `index`, is sound and lies in `bytes` whole, as nearly all do.
    ///
    /// - Returns: `nil` for any other; a look at each of its bytes tells what it is.
    private static func endOfPair(at index: Int, in bytes: Span<UInt8>) -> Int? {
        guard bytes.count - index >= 2 else { return nil }
        let nameLength = Int(bytes[index])
        var valueLength = Int(bytes[index + 1])
        guard 1...0x7F ~= nameLength else { return nil }
        var start = index + 2
        if valueLength > 0x7F {
            guard bytes.count - start >= 3 else { return nil }
            valueLength = (valueLength & 0x7F) << 24 | Int(bytes[start]) << 16
            valueLength |= Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            start += 3
        }
        let end = start + nameLength + valueLength
        guard end <= bytes.count, !holdsNUL(bytes.extracting(start..<end)) else { return nil }
        return end
    }

    private static func holdsNUL(_ text: Span<UInt8>) -> Bool {
        unsafe text.withUnsafeBufferPointer { text in
            guard let start = text.baseAddress else { return false }
            return unsafe memchr(start, 0, text.count) != nil
        }
    }

    private mutating func takeLength(_ byte: UInt8) -> Bool {
        switch state {
        case .nameLength:
            nameLength = Int(byte & 0x7F)
            state = byte & 0x80 == 0 ? .valueLength : .moreOfNameLength(3)
        case .moreOfNameLength(let left):
            nameLength = nameLength << 8 | Int(byte)
            state = left == 1 ? .valueLength : .moreOfNameLength(left - 1)
        case .valueLength:
            valueLength = Int(byte & 0x7F)
            state = byte & 0x80 == 0 ? .text : .moreOfValueLength(3)
        case .moreOfValueLength(let left):
            valueLength = valueLength << 8 | Int(byte)
            state = left == 1 ? .text : .moreOfValueLength(left - 1)
        case .text:
            return false
        }
        guard case .text = state else { return true }
        textLeft = nameLength + valueLength
        return nameLength > 0
    }
}
