import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct SigV4Tests {
    @Test func `has its vectors`() {
        #expect(SigV4Vectors.all.count == 108)
    }

    @Test(arguments: SigV4Vectors.all)
    func `signs as AWS's suite, S3's documentation and botocore do`(vector: SigV4Vectors.Case) throws {
        let body = try #require(Data(base64Encoded: vector.body_b64))
        let target = Request(method: "", target: vector.target)
        var message = SigV4.Message(
            method: vector.method, path: target.path, query: target.query,
            fields: HeaderFields(vector.headers.map { .init(name: $0[0], value: $0[1]) }),
            payloadHash: vector.unsigned_payload == true ? SigV4.unsignedPayload : SHA256.hash(body).hexadecimal)
        let time = try #require(Timestamp(basic: vector.timestamp))
        let credentials = Credentials(
            accessKeyID: vector.access_key, secretAccessKey: Secret(vector.secret_key),
            sessionToken: vector.session_token.map { Secret($0) })
        let key = SigningKey(
            secretAccessKey: credentials.secretAccessKey, day: time.day, region: vector.region,
            service: vector.service)
        let signer = SigV4(
            rules: .init(
                normalizesPath: vector.normalize, encodesPathAgain: vector.double_encode,
                sendsPayloadHash: vector.sign_body, leavesSessionTokenUnsigned: vector.omit_session_token))
        let signature =
            vector.mode == "query"
            ? signer.presign(&message, for: vector.expires ?? 0, with: credentials, key: key, at: time)
            : signer.sign(&message, with: credentials, key: key, at: time)
        if let expected = vector.canonical_request {
            #expect(String(decoding: signature.canonicalRequest, as: UTF8.self) == expected)
        }
        if let expected = vector.string_to_sign {
            #expect(String(decoding: signature.stringToSign, as: UTF8.self) == expected)
        }
        #expect(signature.text == vector.signature)
        let carrier = vector.mode == "query" ? message.query : message.fields["authorization"]
        #expect(carrier?.contains("Signature=\(vector.signature)") == true)
    }

    @Test func `encodes every byte but the unreserved ones`() {
        let ascii = String(decoding: UInt8(0)..<128, as: UTF8.self)
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        let expected = ascii.utf8.map { byte in
            unreserved.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        #expect(PercentEncoding.encode(ascii) == expected.joined())
        #expect(PercentEncoding.encode("é/\u{7FF}", keepingSlashes: true) == "%C3%A9/%DF%BF")
    }

    @Test func `sends a session token that it leaves unsigned`() {
        let credentials = Credentials(
            accessKeyID: "A", secretAccessKey: Secret("s"), sessionToken: Secret("t/+"))
        let time = Timestamp(secondsSince1970: 0)
        let key = SigningKey(secretAccessKey: Secret("s"), day: time.day, region: "r", service: "s")
        let signer = SigV4(
            rules: .init(
                normalizesPath: true, encodesPathAgain: true, sendsPayloadHash: false,
                leavesSessionTokenUnsigned: true))
        let unsigned = SigV4.Message(method: "GET", path: "/", fields: ["host": "h"], payloadHash: "")
        var message = unsigned
        #expect(signer.sign(&message, with: credentials, key: key, at: time).signedHeaders == "host;x-amz-date")
        #expect(message.fields["x-amz-security-token"] == "t/+")
        message = unsigned
        signer.presign(&message, for: 60, with: credentials, key: key, at: time)
        #expect(message.query.hasSuffix("&X-Amz-Security-Token=t%2F%2B"))
    }
}

struct CachedRequestSignerTests {
    @Test func `signs as the whole request would be signed`() {
        let credentials = Credentials(
            accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("t/="))
        let time = Timestamp(secondsSince1970: 1_790_000_000)
        let key = SigningKey(secretAccessKey: credentials.secretAccessKey, day: time.day, region: "r", service: "s3")
        let common = SigV4.Message(
            method: "PUT", path: "", query: "x=1", fields: ["host": "h", "x-a": "1", "x-z": "two  words "],
            payloadHash: SigV4.emptyPayloadHash)
        let cachedSigner = CachedRequestSigner(common, open: "x-m", with: credentials, key: key, at: time)
        for number in 0..<100 {
            let (path, value) = ("/bucket/key%20\(number)", "bucket/\(number * number)")
            var whole = common
            whole.path = path
            whole.fields.add("x-m", value)
            SigV4(rules: .s3).sign(&whole, with: credentials, key: key, at: time)
            let fields = cachedSigner.fields(path: path, value: value)
            #expect(fields["authorization"] == whole.fields["authorization"])
            #expect(fields.map(\.name).sorted() == whole.fields.map(\.name).sorted())
            for field in fields { #expect(field.value == whole.fields[field.name]) }
        }
    }
}
