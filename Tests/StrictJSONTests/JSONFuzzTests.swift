import Foundation
import CloakroomJSON
import Testing

/// Mutations of the published cases; a failure names its seed.
struct JSONFuzzTests {
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `survives any bytes, and takes only what other readers take`(seed: UInt64) throws {
        var generator = SplitMix64(state: seed)
        let cases = try JSONTestSuite.named("").map(\.bytes)
        let pieces = Array("{}[]\",:\\u0eE+-.'/*\n\u{0}é".utf8)
        var taken = 0
        for _ in 0..<5000 {
            var bytes = cases.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.insert(pieces.randomElement(using: &generator) ?? 0, at: place)
                case 1 where place < bytes.count: bytes.remove(at: place)
                default: bytes = Array(bytes[..<place] + (cases.randomElement(using: &generator) ?? []))
                }
            }
            let json = try? JSON(parsing: bytes)
            let json5 = try? JSON(parsingJSON5: bytes)
            guard let json else { continue }
            taken += 1
            #expect(json5 == json)
            let other = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            #expect(other != nil, "\(String(decoding: bytes, as: UTF8.self))")
            #expect(try JSON(parsing: Array(json.text.utf8)) == json)
        }
        #expect(taken > 100)
    }
}

/// The generator of Steele, Lea and Flood (2014).
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
