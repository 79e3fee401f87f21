import Foundation
import Testing

@testable import CloakroomCrypto

struct SealingKeyBytesTests {
    private let key = SealingKey(from: Array("secret".utf8), purpose: "test")
    private let context = Array("u_1".utf8)

    @Test(arguments: [0, 1, 16, 65_537]) func `bytes of any collection are sealed alike`(count: Int) {
        let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let nonce = [UInt8](repeating: 9, count: 12)
        let sealed = key.seal(message, context: context, nonce: nonce)
        let longer = [1, 2, 3] + message + [4]
        #expect(key.seal(Data(message), context: context, nonce: nonce) == sealed)
        #expect(key.seal(longer[3..<3 + count], context: context, nonce: nonce) == sealed)
        #expect(key.seal(Data(longer)[3..<3 + count], context: context, nonce: nonce) == sealed)
        // Without storage in a row of its own.
        #expect(key.seal(message.lazy.map { $0 }, context: context, nonce: nonce) == sealed)
        let framed = [7] + sealed + [8]
        #expect(key.open(Data(sealed), context: context) == message)
        #expect(key.open(framed.dropFirst().dropLast(), context: context) == message)
        #expect(key.open(Data(framed).dropFirst().dropLast(), context: context) == message)
        #expect(key.open(framed.dropFirst(), context: context) == nil)
        #expect(key.open(Data(), context: context) == nil)
    }

    @Test func `a random key is never the same, and is made again from its bytes`() throws {
        let keys = (0..<100).map { _ in SealingKey.random() }
        #expect(Set(keys.map { $0.reveal() }).count == 100)
        for key in keys {
            let again = try #require(SealingKey(key.reveal()))
            #expect(again.open(key.seal([1], context: context), context: context) == [1])
        }
    }
}
