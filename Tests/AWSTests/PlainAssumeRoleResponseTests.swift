import CloakroomHTTP
import Testing

@testable import CloakroomAWS

struct PlainAssumeRoleResponseTests {
    private static let whole = String(decoding: UpstreamDocuments.assumed, as: UTF8.self)

    @Test(arguments: [
        whole, whole + "\r\n\t ", whole.replacing("\n", with: ""), whole.replacing("AQoDYXdz", with: longWord),
        whole.replacing("<PackedPolicySize>6</PackedPolicySize>", with: ""),
        whole.replacing("2026-11-20T15:00:00Z", with: "tomorrow"),
    ])
    func `takes what STS says of a session without a tree`(text: String) throws {
        let plain = try #require(PlainAssumeRoleResponse(Array(text.utf8)))
        #expect(Words(plain) == Words(try XMLReader.read(Array(text.utf8))))
    }

    private static let longWord = String(repeating: "abc/+=;~!>", count: 90)

    @Test(arguments: [
        ("", " x"), ("<AssumeRoleResponse xmlns=", "<?x?><AssumeRoleResponse xmlns="), (" xmlns=", "  xmlns="),
        ("<Credentials>", "<Credentials></Credentials><Credentials>"), ("<Credentials>", "<Credentials a='b'>"),
        ("</Credentials>", "<Expiration>x</Expiration></Credentials>"), ("</Credentials>", ""),
        ("<SessionToken>AQoDYXdzEPT//////////wEXAMPLE+/==</SessionToken>", ""),
        ("ASIAIOSFODNN7EXAMPLE", ""), ("ASIAIOSFODNN7EXAMPLE", " A"), ("ASIAIOSFODNN7EXAMPLE", "A B"),
        ("ASIAIOSFODNN7EXAMPLE", "A&amp;"), ("ASIAIOSFODNN7EXAMPLE", "A]"), ("ASIAIOSFODNN7EXAMPLE", "<a>A</a>"),
        ("ASIAIOSFODNN7EXAMPLE", "é"), ("AQoDYXdz", longWord + "\u{7F}"), ("AQoDYXdz", longWord + "<!-- -->"),
        ("<AccessKeyId>", "<AccessKeyId><SecretAccessKey>x</SecretAccessKey>"), ("</AccessKeyId>", "</AccessKeyId >"),
        ("<AssumedRoleUser>", "<AssumedRoleUser></AssumedRoleUser><AssumedRoleUser>"), ("AssumeRole", "AssumeRoll"),
        ("<Arn>arn:aws:sts::123456789012:assumed-role/vending/u_1</Arn>", ""),
        ("<PackedPolicySize>6</PackedPolicySize>", "<SourceIdentity>a</SourceIdentity>"),
        ("<ResponseMetadata>", "<Error><Code>a</Code></Error><ResponseMetadata>"),
        ("c6104cbe-af31-11e0-8154-cbc7ccf896c7", String(repeating: "x", count: 1 << 16)),
    ])
    func `leaves anything else to the reader of XML`(part: String, replacement: String) {
        let text = part.isEmpty ? Self.whole + replacement : Self.whole.replacing(part, with: replacement)
        #expect(PlainAssumeRoleResponse(Array(text.utf8)) == nil)
    }

    @Test func `reads nothing otherwise than the reader of XML, whatever byte is another`() throws {
        let whole = UpstreamDocuments.assumed
        var taken = 0
        for place in whole.indices {
            for byte in Array("<>/&;\"E1x \n]".utf8) + [0, 0x7F, 0x80] {
                var bytes = whole
                bytes[place] = byte
                guard let plain = PlainAssumeRoleResponse(bytes) else { continue }
                taken += 1
                #expect(Words(plain) == Words(try XMLReader.read(bytes)))
            }
            #expect(PlainAssumeRoleResponse(Array(whole[..<place])) == nil)
        }
        #expect(taken > 100)
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let bytes = whole.mutated(using: &generator)
            guard let plain = PlainAssumeRoleResponse(bytes) else { continue }
            #expect(Words(plain) == Words(try XMLReader.read(bytes)))
        }
    }
}

/// What an answer says, by either reader.
private struct Words: Equatable {
    let texts: [String?]
    let end: Timestamp?

    init(_ plain: PlainAssumeRoleResponse) {
        texts = [
            plain.accessKeyID, plain.secretAccessKey, plain.sessionToken, plain.packedPolicySize,
        ]
        end = plain.expiration
    }

    init(_ root: CloakroomAWS.XMLElement) {
        let result = root.hasName("AssumeRoleResponse") ? root["AssumeRoleResult"] : nil
        let credentials = result?["Credentials"]
        texts = [
            credentials?.text(of: "AccessKeyId"), credentials?.text(of: "SecretAccessKey"),
            credentials?.text(of: "SessionToken"), result?.text(of: "PackedPolicySize"),
        ]
        end = credentials?.text(of: "Expiration").flatMap { Timestamp(iso8601: $0) }
    }
}
