import CloakroomCrypto
import CloakroomSignatures
import Foundation
import CloakroomTestSupport
import Testing

struct MessageVerifierTests {
    /// A key pair with one of the schemes it fits.
    struct Pair: Sendable, CustomTestStringConvertible {
        let scheme: SignatureScheme
        let pem: String

        var testDescription: String { "\(scheme)" }

        static let all: [Pair] =
            HashFunction.allCases.flatMap { hash in
                [Pair(scheme: .pkcs1(hash), pem: TestKeys.rsa), Pair(scheme: .pss(hash), pem: TestKeys.rsa)]
            } + [
                Pair(scheme: .ecdsa(.sha256), pem: TestKeys.p256),
                Pair(scheme: .ecdsa(.sha384), pem: TestKeys.p384),
                Pair(scheme: .ecdsa(.sha512), pem: TestKeys.p521),
                Pair(scheme: .ed25519, pem: TestKeys.ed25519),
            ]

        func made() throws -> (MessageSigner, MessageVerifier) {
            let key = try PrivateKey(pem: Array(pem.utf8))
            return (try MessageSigner(key, scheme), try #require(MessageVerifier(key.publicKey, scheme)))
        }
    }

    private static let message = Array("a message".utf8)

    @Test(arguments: Pair.all)
    func `verifies what was signed, message after message`(pair: Pair) throws {
        let (signer, verifier) = try pair.made()
        let messages = [0, 1, 55, 64, 1000].map { [UInt8](repeating: 7, count: $0) }
        let signatures = messages.map(signer.sign)
        for (message, signature) in zip(messages, signatures) { #expect(verifier.verifies(signature, of: message)) }
        for (message, signature) in zip(messages, signatures.reversed()) where message.count != 55 {
            #expect(!verifier.verifies(signature, of: message))
        }
        for (message, signature) in zip(messages, signatures) { #expect(verifier.verifies(signature, of: message)) }
    }

    @Test(arguments: Pair.all)
    func `refuses a signature with any bit changed, or of another length`(pair: Pair) throws {
        let (signer, verifier) = try pair.made()
        let good = signer.sign(Self.message)
        var bad = good.indices.map { index in
            var changed = good
            changed[index] ^= 1 << UInt8(index % 8)
            return changed
        }
        bad += [
            [], [0], good + [0], [0] + good, Array(good.dropLast()), Array(good.dropFirst()), good + good,
            [UInt8](repeating: 0, count: good.count), [UInt8](repeating: 0xFF, count: good.count),
            Array(good.suffix(good.count / 2) + good.prefix(good.count / 2)),
        ]
        #expect(bad.filter { verifier.verifies($0, of: Self.message) } == [])
        #expect(verifier.verifies(good, of: Self.message))
    }

    @Test(arguments: Pair.all)
    func `refuses one scheme's signature under another`(pair: Pair) throws {
        let signature = try pair.made().0.sign(Self.message)
        let key = try PrivateKey(pem: Array(pair.pem.utf8)).publicKey
        let others = Pair.all.map(\.scheme).filter { $0 != pair.scheme }
        let taken = others.filter { MessageVerifier(key, $0)?.verifies(signature, of: Self.message) == true }
        #expect(taken == [])
    }

    @Test func `fits each curve with its own hash alone`() throws {
        for (pem, hash) in [
            (TestKeys.p256, HashFunction.sha256), (TestKeys.p384, .sha384), (TestKeys.p521, .sha512),
        ] {
            let key = try PrivateKey(pem: Array(pem.utf8)).publicKey
            #expect(HashFunction.allCases.filter { key.fits(.ecdsa($0)) } == [hash])
        }
    }

    /// What an outsider can make of a key's order and field alone: none of these is a signature of anything.
    @Test(arguments: Pair.all.filter { if case .ecdsa = $0.scheme { true } else { false } })
    func `refuses ECDSA numbers at the edges of their range, and DER`(pair: Pair) throws {
        let (signer, verifier) = try pair.made()
        let good = signer.sign(Self.message)
        let length = good.count / 2
        let order = try #require(Self.orders[length])
        let numbers = [
            [UInt8](repeating: 0, count: length), [UInt8](repeating: 0, count: length - 1) + [1],
            order.dropLast() + [order[length - 1] - 1], order, order.dropLast() + [order[length - 1] + 1],
            [UInt8](repeating: 0xFF, count: length), Array(good[..<length]), Array(good[length...]),
        ]
        let pairs = numbers.flatMap { r in numbers.map { r + $0 } }
        #expect(pairs.filter { verifier.verifies($0, of: Self.message) } == [good])
        // The same numbers as X.509 has them.
        let integers = [good[..<length], good[length...]].flatMap { half in
            let digits = Array(half.drop { $0 == 0 })
            let number = (digits.first ?? 0) < 0x80 ? digits : [0] + digits
            return [2, UInt8(number.count)] + number
        }
        let head: [UInt8] = integers.count < 128 ? [0x30] : [0x30, 0x81]
        #expect(!verifier.verifies(head + [UInt8(integers.count)] + integers, of: Self.message))
    }

    /// By the length of their coordinates (SEC 2 §2.4.2, §2.5.1, §2.6.1).
    private static let orders: [Int: [UInt8]] = [
        32: bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
        48: bytes(
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"),
        66: bytes(
            "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa"
                + "51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"),
    ]

    /// RFC 8032 §5.1.7: S must be below the order of the group, or anybody could make a second signature of a first.
    @Test func `refuses a second form of an Ed25519 signature`() throws {
        let pair = try #require(Pair.all.last)
        let (signer, verifier) = try pair.made()
        let good = signer.sign(Self.message)
        // L, little-endian.
        let order = Array(Self.bytes("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed").reversed())
        var changed = good
        for _ in 1...7 {
            var carry = 0
            for index in 0..<32 {
                carry += Int(changed[32 + index]) + Int(order[index])
                changed[32 + index] = UInt8(truncatingIfNeeded: carry)
                carry >>= 8
            }
            #expect(!verifier.verifies(changed, of: Self.message))
        }
        #expect(verifier.verifies(good, of: Self.message))
    }

    private struct Forgeries: Decodable {
        struct Forgery: Decodable {
            let comment: String
            let signature: String
        }

        struct Scheme: Decodable {
            let valid: String
            let validWithLeadingZero: String?
            let forged: [Forgery]
        }

        let pkcs1: Scheme
        let pss: Scheme
    }

    @Test func `refuses RSA paddings that are not exactly the one there is`() throws {
        let url = try #require(Bundle.module.url(forResource: "Vectors/rsa_forgeries", withExtension: "json"))
        let forgeries = try JSONDecoder().decode(Forgeries.self, from: Data(contentsOf: url))
        let key = try PublicKey(pem: Array(TestKeys.rsaPublic.utf8))
        for (scheme, signatures) in [
            (SignatureScheme.pkcs1(.sha256), forgeries.pkcs1), (.pss(.sha256), forgeries.pss),
        ] {
            let verifier = try #require(MessageVerifier(key, scheme))
            let verifies = { (text: String) in
                Base64URL.decode(text.utf8).map { verifier.verifies($0, of: Self.message) }
            }
            #expect(verifies(signatures.valid) == true)
            #expect(signatures.forged.filter { verifies($0.signature) != false }.map(\.comment) == [])
        }
        let verifier = try #require(MessageVerifier(key, .pss(.sha256)))
        let short = try #require(forgeries.pss.validWithLeadingZero.flatMap { Base64URL.decode($0.utf8) })
        #expect(verifier.verifies(short, of: Self.message))
        #expect(!verifier.verifies(Array(short.dropFirst()), of: Self.message))
        #expect(forgeries.pkcs1.forged.count == 19 && forgeries.pss.forged.count == 11)
    }

    @Test func `holds a key to the one scheme that its own parameters allow`() throws {
        let key = try PublicKey(pem: Array(TestKeys.rsaForPSS.utf8))
        #expect(MessageVerifier(key, .pss(.sha256)) != nil)
        #expect(MessageVerifier(key, .pss(.sha512)) == nil)
        #expect(MessageVerifier(key, .pkcs1(.sha256)) == nil)
    }

    @Test func `keeps messages apart that share a key at the same time`() async throws {
        for pair in [Pair.all[0], try #require(Pair.all.last)] {
            let (signer, verifier) = try pair.made()
            await withTaskGroup(of: Bool.self) { group in
                for byte in UInt8(0)..<16 {
                    group.addTask {
                        let message = [UInt8](repeating: byte, count: 300)
                        let signature = signer.sign(message)
                        return (0..<5).allSatisfy { _ in
                            verifier.verifies(signature, of: message) && !verifier.verifies(signature, of: [byte])
                        }
                    }
                }
                for await isRight in group { #expect(isRight) }
            }
        }
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let values = digits.compactMap(\.hexDigitValue)
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }
}
