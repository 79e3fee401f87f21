import Foundation

/// MD5 (RFC 1321): what S3 makes entity tags of, and what `Content-MD5` holds.
enum MD5 {
    private static let shifts: [UInt32] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
        .flatMap { row in (0..<4).flatMap { _ in row } }
    private static let sines = (0..<64).map { UInt32(abs(sin(Double($0 + 1))) * 4_294_967_296) }

    private typealias State = (a: UInt32, b: UInt32, c: UInt32, d: UInt32)

    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        // The last block or two: what is left, a bit, zeros, and the length in bits.
        let whole = bytes.count / 64 * 64
        var end = bytes[whole...] + [0x80]
        end += [UInt8](repeating: 0, count: (120 - end.count % 64) % 64)
        let bitCount = UInt64(bytes.count) * 8
        for place in 0..<8 { end.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(8 * place))) }
        var state: State = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476)
        shifts.withUnsafeBufferPointer { shifts in
            sines.withUnsafeBufferPointer { sines in
                bytes.withUnsafeBytes { add($0[..<whole], to: &state, shifts, sines) }
                end.withUnsafeBytes { add($0[...], to: &state, shifts, sines) }
            }
        }
        return [state.a, state.b, state.c, state.d].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) }
        }
    }

    /// Block after block.
    private static func add(
        _ blocks: Slice<UnsafeRawBufferPointer>, to state: inout State, _ shifts: UnsafeBufferPointer<UInt32>,
        _ sines: UnsafeBufferPointer<UInt32>
    ) {
        let bytes = UnsafeRawBufferPointer(rebasing: blocks)
        for start in stride(from: 0, to: bytes.count, by: 64) {
            var (a, b, c, d) = state
            for step in 0..<64 {
                let (mixed, place): (UInt32, Int) =
                    switch step / 16 {
                    case 0: (b & c | ~b & d, step)
                    case 1: (d & b | ~d & c, (5 * step + 1) % 16)
                    case 2: (b ^ c ^ d, (3 * step + 5) % 16)
                    default: (c ^ (b | ~d), 7 * step % 16)
                    }
                let word = bytes.loadUnaligned(fromByteOffset: start + 4 * place, as: UInt32.self)
                let sum = a &+ mixed &+ sines[step] &+ UInt32(littleEndian: word)
                (a, d, c, b) = (d, c, b, b &+ (sum << shifts[step] | sum >> (32 - shifts[step])))
            }
            state = (state.a &+ a, state.b &+ b, state.c &+ c, state.d &+ d)
        }
    }
}
