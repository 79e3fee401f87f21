import CloakroomCrypto
import CloakroomSignatures
import CloakroomTestSupport
import Testing

struct PublicKeyTests {
    private func fault(_ body: () throws -> Void) -> KeyError? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeyError
        }
    }

    private func fault(_ material: PublicKey.Material) -> KeyError? { fault { _ = try PublicKey(material) } }

    /// A modulus of so many bits that is odd, and no more than that.
    private func modulus(bits: Int) -> [UInt8] {
        let highest = UInt8(1) << UInt8((bits - 1) % 8)
        return [highest] + (1..<(bits + 7) / 8).map { UInt8(truncatingIfNeeded: $0 * 37) }.dropLast() + [0x2B]
    }

    @Test(arguments: [
        (TestKeys.rsa, TestKeys.rsaPublic), (TestKeys.p256, TestKeys.p256Public), (TestKeys.p384, TestKeys.p384Public),
        (TestKeys.p521, TestKeys.p521Public), (TestKeys.ed25519, TestKeys.ed25519Public),
    ])
    func `reads the two halves of a key pair as one`(secret: String, open: String) throws {
        let key = try PublicKey(pem: Array(open.utf8))
        #expect(try PrivateKey(pem: Array(secret.utf8)).publicKey == key)
        #expect(try PublicKey(key.material) == key)
        let disguised = "Subject: x\r\n" + open.split(separator: "\n").map { "  \($0) \r\n" }.joined()
        #expect(try PublicKey(pem: Array(disguised.utf8)) == key)
    }

    @Test func `reads a point that is written in short`() throws {
        let short = """
            -----BEGIN PUBLIC KEY-----
            MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADtOxHDuWvcDxzRqGgdTF+Gu06IHkZ
            ZwMnmUOB2EwDmvE=
            -----END PUBLIC KEY-----
            """
        #expect(try PublicKey(pem: Array(short.utf8)) == PublicKey(pem: Array(TestKeys.p256Public.utf8)))
    }

    private static func pem(_ label: String, _ body: String) -> String {
        "-----BEGIN \(label)-----\n\(body)\n-----END \(label)-----\n"
    }

    private static let ed25519Body = "MCowBQYDK2VwAyEA9ooTW8u/aC/tTlRpCY9l0Q3Kcmhxse4XnggBWYHPBks="

    @Test(arguments: [
        ("", KeyError.unreadable),
        ("a secret", .unreadable),
        (pem("PUBLIC KEY", ""), .unreadable),
        (pem("PUBLIC KEY", "AAAA"), .unreadable),
        (pem("PUBLIC KEY", ed25519Body.replacing("=", with: "")), .unreadable),
        (pem("PUBLIC KEY", ed25519Body.replacing("V", with: "-")), .unreadable),
        // One byte more than the key.
        (pem("PUBLIC KEY", "MCowBQYDK2VwAyEA9ooTW8u/aC/tTlRpCY9l0Q3Kcmhxse4XnggBWYHPBksA"), .unreadable),
        (pem("PUBLIC KEY", ed25519Body) + pem("PUBLIC KEY", ed25519Body), .unreadable),
        ("-----BEGIN PUBLIC KEY-----\n\(ed25519Body)\n", .unreadable),
        ("-----BEGIN PUBLIC KEY-----\n\(ed25519Body)\n-----END CERTIFICATE-----", .unreadable),
        (String(repeating: "a", count: 16385), .tooLarge),
        (TestKeys.rsa, .privateKey),
        (TestKeys.ed25519, .privateKey),
        (pem("ENCRYPTED PRIVATE KEY", ed25519Body), .privateKey),
        (pem("EC PRIVATE KEY", ed25519Body), .privateKey),
        (pem("CERTIFICATE", ed25519Body), .certificate),
        (pem("RSA PUBLIC KEY", ed25519Body), .oldContainer),
        (pem("OPENSSH PRIVATE KEY", ed25519Body), .unsupportedKind),
        // X25519, Ed448, secp256k1.
        (pem("PUBLIC KEY", "MCowBQYDK2VuAyEA9FzHzEc5Sh7SHPam1jONbkhfPIYhd1WWacfRwhImZBM="), .unsupportedKind),
        (
            pem(
                "PUBLIC KEY",
                "MEMwBQYDK2VxAzoAVJcE6IMPLQ3oy1QktbdEldtaOucoC8+UxdsC5ZGqt+AqKcSe\nkym0AkBhTJZ8nySmM59cl2zaWeQA"),
            .unsupportedKind
        ),
        (
            pem(
                "PUBLIC KEY",
                "MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAE6H3taMYWyWLafGiLAPyFp6q69S2/gaeV\n"
                    + "YDj+JxrtIlQ9IWbgEn+eXSl1L/UjN9mYlSQ6fYeikM8vKYL5/3vrRQ=="), .unsupportedKind
        ),
        // P-256 with its parameters written out: they could be somebody's own (CVE-2020-0601).
        (
            pem(
                "PUBLIC KEY",
                """
                MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA
                AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////
                ///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd
                NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5
                RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA
                //////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABKFN/YcdZj6uVvkrolsTgics
                EHRrWXxtLZt0+hHmLcMYNHPUIK8NaE4OeOdu4asNe8UgczJnEfnIdccRDpD+w/E=
                """), .unsupportedKind
        ),
        (
            pem(
                "PUBLIC KEY",
                """
                MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC8Jqfi+g4/68upnAuaF9RWBbxG
                dorOMU7u6BY5WDHJtNaXIoXIef+0lODbftGX6sqnLa6bx9c+hHUbkh7yzZ8WV5n2
                bRq/m4r6EUSa6o8VBuF57SZmWENkkFILRdgc0eFd8OCgFLmNk5yQsCdxKi30wh2O
                MW8TBr6RA6BgCo65RwIDAQAB
                """), .tooSmall
        ),
    ])
    func `says why it does not take a text for a public key`(text: String, reason: KeyError) {
        #expect(fault { _ = try PublicKey(pem: Array(text.utf8)) } == reason)
    }

    @Test(arguments: [
        ("", KeyError.unreadable),
        (TestKeys.rsaPublic, .publicKey),
        (pem("ENCRYPTED PRIVATE KEY", ed25519Body), .encrypted),
        (pem("RSA PRIVATE KEY", ed25519Body), .oldContainer),
        (pem("EC PRIVATE KEY", ed25519Body), .oldContainer),
        (pem("CERTIFICATE", ed25519Body), .certificate),
        (pem("PRIVATE KEY", ed25519Body), .unreadable),
        (pem("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEILfqzH/KOv+KPll8yBRizYpfTAlSBvJ259krxBVuGPPTAA=="), .unreadable),
    ])
    func `says why it does not take a text for a private key`(text: String, reason: KeyError) {
        #expect(fault { _ = try PrivateKey(pem: Array(text.utf8)) } == reason)
    }

    @Test func `does not sign when the public half is another key's`() throws {
        let body = TestKeys.p256.split(separator: "\n").dropFirst().dropLast().joined()
        var der = try #require(base64(body))
        // x and y of RFC 7515 A.3.
        let point = [
            "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        ].flatMap { Base64URL.decode($0.utf8) ?? [] }
        der.replaceSubrange(der.count - 64..<der.count, with: point)
        let text = Self.pem("PRIVATE KEY", standardBase64(der))
        #expect(fault { _ = try MessageSigner(PrivateKey(pem: Array(text.utf8)), .ecdsa(.sha256)) } == .mismatched)
    }

    private func base64(_ text: String) -> [UInt8]? {
        let plain = text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return Base64URL.decode(plain.utf8)
    }

    private func standardBase64(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }

    @Test func `takes RSA from 2048 to 8192 bits`() {
        for bits in [2048, 2049, 3072, 8192] {
            #expect(fault(.rsa(modulus: modulus(bits: bits), exponent: [1, 0, 1])) == nil)
        }
        for bits in [8, 1024, 2047] {
            #expect(fault(.rsa(modulus: modulus(bits: bits), exponent: [1, 0, 1])) == .tooSmall)
        }
        #expect(fault(.rsa(modulus: modulus(bits: 8193), exponent: [1, 0, 1])) == .tooLarge)
    }

    @Test func `refuses RSA numbers that no generator makes`() {
        let good = modulus(bits: 2048)
        #expect(fault(.rsa(modulus: [], exponent: [3])) == .badModulus)
        #expect(fault(.rsa(modulus: good.dropLast() + [2], exponent: [3])) == .badModulus)
        #expect(fault(.rsa(modulus: [0] + good, exponent: [3])) == .leadingZeros)
        #expect(fault(.rsa(modulus: good, exponent: [0, 3])) == .leadingZeros)
        for exponent: [UInt8] in [[], [1], [2], [1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]] {
            #expect(fault(.rsa(modulus: good, exponent: exponent)) == .badExponent)
        }
        for exponent: [UInt8] in [[3], [17], [1, 0, 1], [UInt8](repeating: 0xFF, count: 8)] {
            #expect(fault(.rsa(modulus: good, exponent: exponent)) == nil)
        }
    }

    /// The key of Wycheproof's json_web_key_test.json, tcId 7.
    @Test func `refuses a key whose primes can be computed`() throws {
        let modulus = try #require(
            Base64URL.decode(
                """
                AanFpofbj7KjD4Lf-N2hVMKR7yewSyXhhbirIMTGpfYEhZ_lnt5UoK98DnKIgArXGTu3MaW_HhFw16HGaTDUHqPrId7fe4r11CqRw09yBFuW79V8\
                sYIwHdzCaWflUI6auImYbVfoN9_nD5n8N8SY9DwXw7mwZM9wREPXoDPgOoIWl6q_MPsp7n0zs3Z5ZaiQWOOzl1S9OhwAfSiiOwz6efnXEaxuTEtP\
                d7BjSx7NaFka8Dx9U7YqXy2RFj1O9PjyaDGuRh7YXsX3iMUSP_wSyHQg_c_qHRtKUsNSGCT7OZg0hzm2KphtjnayKJvC64vAbROBR4Ubg6Bxg9IQ\
                VZ-QYyE
                """.utf8))
        #expect(fault(.rsa(modulus: modulus, exponent: [1, 0, 1])) == .guessablePrimes)
        var other = modulus
        other[100] ^= 1
        #expect(fault(.rsa(modulus: other, exponent: [1, 0, 1])) == nil)
    }

    @Test(arguments: [TestKeys.p256Public, TestKeys.p384Public, TestKeys.p521Public])
    func `refuses a point beside its curve, and coordinates of another length`(pem: String) throws {
        guard case .ellipticCurve(let curve, let x, let y) = try PublicKey(pem: Array(pem.utf8)).material else {
            Issue.record("no curve")
            return
        }
        let zero = [UInt8](repeating: 0, count: x.count)
        let beside = [
            (x, y.dropLast() + [y[y.count - 1] ^ 1]), (x.dropLast() + [x[x.count - 1] ^ 1], y), (zero, zero), (y, x),
            ([UInt8](repeating: 0xFF, count: x.count), y),
        ]
        for (x, y) in beside { #expect(fault(.ellipticCurve(curve, x: x, y: y)) == .notOnCurve) }
        for (x, y) in [([0] + x, y), (x, [0] + y), (Array(x.dropFirst()), y), (x, []), (x + [0], y)] {
            #expect(fault(.ellipticCurve(curve, x: x, y: y)) == .wrongLength)
        }
        for other in EllipticCurve.allCases where other != curve {
            #expect(fault(.ellipticCurve(other, x: x, y: y)) == .wrongLength)
        }
    }

    @Test func `refuses points of Ed25519 that are none, of small order, or written in a second way`() throws {
        let prime: [UInt8] = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let zero = [UInt8](repeating: 0, count: 32)
        let order8: [UInt8] = [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
            0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ]
        let signed = { (point: [UInt8]) -> [UInt8] in point.dropLast() + [point[31] | 0x80] }
        let one = [1] + zero.dropLast()
        let minusOne = [0xEC] + prime.dropFirst()
        for point in [zero, signed(zero), one, minusOne, order8, signed(order8)] {
            #expect(fault(.ed25519(point)) == .smallOrder)
        }
        // p, p + 1: 0 and 1 again; 1 and -1 with the sign of an x that is 0; y = 2 and 7 have no x.
        let none: [[UInt8]] = [
            prime, [0xEE] + prime.dropFirst(), signed(one), signed(minusOne), [2] + zero.dropLast(),
            [7] + zero.dropLast(), [UInt8](repeating: 0xFF, count: 32),
        ]
        for point in none { #expect(fault(.ed25519(point)) == .notOnCurve) }
        for point in [[], Array(zero.dropLast()), zero + [0]] { #expect(fault(.ed25519(point)) == .wrongLength) }
        // y of the base point: 4/5 (RFC 8032 §5.1).
        #expect(fault(.ed25519([0x58] + [UInt8](repeating: 0x66, count: 31))) == nil)
    }

    @Test func `finds as many points as the curve has`() {
        // About half of all y have an x; every x has two signs.
        let found = (UInt8(0)..<200).filter { fault(.ed25519([$0] + [UInt8](repeating: 3, count: 31))) == nil }
        #expect((70...130).contains(found.count))
        let turned = found.filter {
            fault(.ed25519([$0] + [UInt8](repeating: 3, count: 30) + [0x83])) == nil
        }
        #expect(turned == found)
    }

    @Test func `prints no private key`() throws {
        let key = try PrivateKey(pem: Array(TestKeys.p256.utf8))
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key) \(String(reflecting: key))" == "<secret> <secret>")
        #expect(dumped.contains("<secret>") && !dumped.contains("handle"))
    }
}
