import Foundation

/// Width and height of a JPEG, in pixels, as its frame header has them (ITU-T T.81 §B.2.2).
struct JPEGDimensions: Sendable, Equatable {
    var width: Int
    var height: Int

    /// - Returns: `nil` when the bytes are no JPEG, or end before that header.
    init?(of data: Data) {
        let bytes = Array(data)
        guard bytes.starts(with: [0xff, 0xd8]) else { return nil }
        var position = 2
        while position + 9 <= bytes.count, bytes[position] == 0xff {
            let marker = bytes[position + 1]
            switch marker {
            // Bytes that fill up, and markers without a length.
            case 0xff:
                position += 1
                continue
            case 0x01, 0xd0...0xd7:
                position += 2
                continue
            // Frames; C4, C8 and CC are other things.
            case 0xc0...0xcf where ![0xc4, 0xc8, 0xcc].contains(marker):
                height = Int(bytes[position + 5]) << 8 | Int(bytes[position + 6])
                width = Int(bytes[position + 7]) << 8 | Int(bytes[position + 8])
                guard width > 0, height > 0 else { return nil }
                return
            default:
                let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
                guard length >= 2 else { return nil }
                position += 2 + length
            }
        }
        return nil
    }
}
