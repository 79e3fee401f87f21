import Testing

@testable import CloakroomCrypto

struct SealingKeyTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let key: String
        let nonce: String
        let message: String
        let context: String
        let sealed: String
        let tag: String

        var testDescription: String { name }
    }

    /// McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases 13 to 16.
    private static let vectors = [
        Vector(
            name: "13", key: zeros(32), nonce: zeros(12), message: "", context: "", sealed: "",
            tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        Vector(
            name: "14", key: zeros(32), nonce: zeros(12), message: zeros(16), context: "",
            sealed: "cea7403d4d606b6e074ec5d3baf39d18", tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        Vector(
            name: "15", key: key, nonce: nonce, message: message, context: "", sealed: sealed,
            tag: "b094dac5d93471bdec1a502270e3cc6c"),
        Vector(
            name: "16", key: key, nonce: nonce, message: String(message.dropLast(8)),
            context: "feedfacedeadbeeffeedfacedeadbeefabaddad2", sealed: String(sealed.dropLast(8)),
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]

    private static func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }
    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    private static let nonce = "cafebabefacedbaddecaf888"
    private static let message =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
    private static let sealed =
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"

    private func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    @Test(arguments: vectors) func `seals and opens what was published`(vector: Vector) throws {
        let key = try #require(SealingKey(bytes(vector.key)))
        let sealed = key.seal(bytes(vector.message), context: bytes(vector.context), nonce: bytes(vector.nonce))
        #expect(sealed.hexadecimal == vector.nonce + vector.sealed + vector.tag)
        #expect(key.open(sealed, context: bytes(vector.context)) == bytes(vector.message))
    }

    @Test func `seals one message after another, with keys of their own`() throws {
        let sealer = Sealer()
        for vector in Self.vectors + Self.vectors.reversed() {
            let key = try #require(SealingKey(bytes(vector.key)))
            let message = bytes(vector.message)
            let (context, nonce) = (bytes(vector.context), bytes(vector.nonce))
            let whole = vector.nonce + vector.sealed + vector.tag
            #expect(sealer.seal(message, with: key, context: context, nonce: nonce).hexadecimal == whole)
            // Of what is not in one piece, too.
            #expect(
                sealer.seal(message.lazy.map { $0 }, with: key, context: context, nonce: nonce).hexadecimal == whole)
        }
    }

    @Test func `opens nothing in which a bit was changed`() throws {
        let key = SealingKey(from: Array("secret".utf8), purpose: "test")
        let sealed = key.seal(Array("message".utf8), context: Array("u_1".utf8))
        #expect(sealed.count == 12 + 7 + 16)
        for place in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[place] ^= 1 << bit
                #expect(key.open(changed, context: Array("u_1".utf8)) == nil)
            }
        }
        #expect(key.open(sealed, context: Array("u_1".utf8)) == Array("message".utf8))
    }

    @Test func `opens nothing that was cut, lengthened or put elsewhere`() throws {
        let key = SealingKey(from: Array("secret".utf8), purpose: "test")
        let context = Array("u_1".utf8)
        let sealed = key.seal(Array("message".utf8), context: context)
        for count in sealed.indices { #expect(key.open(Array(sealed.prefix(count)), context: context) == nil) }
        #expect(key.open(sealed + [0], context: context) == nil)
        #expect(key.open(sealed, context: Array("u_2".utf8)) == nil)
        #expect(key.open(sealed, context: []) == nil)
    }

    @Test func `opens nothing of another key`() throws {
        let secret = Array("secret".utf8)
        let sealed = SealingKey(from: secret, purpose: "a").seal([1], context: [])
        #expect(SealingKey(from: secret, purpose: "a").open(sealed, context: []) == [1])
        #expect(SealingKey(from: secret, purpose: "b").open(sealed, context: []) == nil)
        #expect(SealingKey(from: secret + [1], purpose: "a").open(sealed, context: []) == nil)
    }

    @Test func `never seals alike`() {
        let key = SealingKey(from: [1], purpose: "test")
        let sealed = Set((0..<1000).map { _ in key.seal([], context: []) })
        #expect(sealed.count == 1000)
    }

    @Test func `has 32 bytes, and prints none of them`() throws {
        for count in [0, 16, 24, 31, 33] { #expect(SealingKey([UInt8](repeating: 7, count: count)) == nil) }
        let key = try #require(SealingKey([UInt8](repeating: 7, count: 32)))
        var text = ""
        dump(key, to: &text)
        #expect("\(key)" == "<secret>" && String(reflecting: key) == "<secret>" && !text.contains("7"))
    }
}
