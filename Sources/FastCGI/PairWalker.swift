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
            if case .text = state {
                let end = min(index + textLeft, bytes.count)
                textLeft -= end - index
                guard !holdsNUL(bytes.extracting(index..<end)) else { return false }
                index = end
                if textLeft == 0 { state = .nameLength }
                continue
            }
            guard takeLength(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    private func holdsNUL(_ text: Span<UInt8>) -> Bool {
        unsafe text.withUnsafeBufferPointer { text in unsafe text.contains(0) }
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
