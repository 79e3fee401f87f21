package import CloakroomKitTestSupport

/// The same dice at every run.
package typealias SeededGenerator = CloakroomKitTestSupport.SeededGenerator

extension SeededGenerator {
    /// One seed, of this run alone. As the argument of a test it stands in each failure's line; in its place in the code it
    /// repeats that run.
    package static var freshSeeds: [UInt64] { [UInt64.random(in: .min ... .max)] }
}

extension SeededGenerator {
    /// So many of these letters, each any number of times.
    package mutating func text(of letters: some Collection<Character>, _ lengths: ClosedRange<Int>) -> String {
        let length = Int.random(in: lengths, using: &self)
        return String((0..<length).compactMap { _ in letters.randomElement(using: &self) })
    }
}

extension [UInt8] {
    /// A few bytes changed, dropped, doubled or set to what length fields stumble over.
    package func mutated(using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
            case 2: bytes.remove(at: place)
            case 3: bytes.removeSubrange(place..<Swift.min(bytes.count, place + 9))
            case 4: bytes.insert(contentsOf: bytes[place..<Swift.min(bytes.count, place + 16)], at: place)
            default: bytes.insert(UInt8.random(in: .min ... .max, using: &generator), at: place)
            }
        }
        return bytes
    }
}
