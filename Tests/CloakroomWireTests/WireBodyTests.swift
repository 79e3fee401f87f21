import CloakroomWire
import Foundation
import Testing

struct WireBodyTests {
    private let instant = Date(timeIntervalSince1970: 1_773_475_200)

    /// Compares the text, and reads it back as the kit does.
    private func check<Body: WireBody>(_ body: Body, _ text: String) throws {
        #expect(String(decoding: body.encoded, as: UTF8.self) == text)
        #expect(try wireDecoder.decode(Body.self, from: Data(body.encoded)) == body)
    }

    @Test func `writes credentials as clients of the token route read them`() throws {
        let credentials = STSTokenBody.Credentials(
            accessKeyId: "ASIA", secretAccessKey: "a/b+c", sessionToken: "t==", expiration: instant)
        try check(
            STSTokenBody(credentials: credentials, region: "eu-central-1", bucket: "photos"),
            #"{"credentials":{"accessKeyId":"ASIA","secretAccessKey":"a/b+c","sessionToken":"t==","#
                + #""expiration":"2026-03-14T08:00:00Z"},"region":"eu-central-1","bucket":"photos"}"#)
    }

    @Test func `adds the user and the prefixes behind what earlier clients read`() throws {
        let credentials = STSTokenBody.Credentials(
            accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: instant)
        try check(
            STSTokenBody(
                credentials: credentials, region: "eu-central-1", bucket: "photos", userId: "u_1",
                prefixes: ["thumbnails": "thumbnails/u_1/", "photos": "photos/u_1/", "": "u_1/"]),
            #"{"credentials":{"accessKeyId":"ASIA","secretAccessKey":"s","sessionToken":"t","#
                + #""expiration":"2026-03-14T08:00:00Z"},"region":"eu-central-1","bucket":"photos","userId":"u_1","#
                + #""prefixes":{"":"u_1/","photos":"photos/u_1/","thumbnails":"thumbnails/u_1/"}}"#)
    }

    @Test func `writes credentials as AWS SDKs read them`() throws {
        try check(
            ContainerCredentialsBody(
                accessKeyID: "ASIA", secretAccessKey: "s", token: "t", expiration: instant),
            #"{"AccessKeyId":"ASIA","SecretAccessKey":"s","Token":"t","Expiration":"2026-03-14T08:00:00Z"}"#)
    }

    @Test func `writes an upload with both names of the asset's address`() throws {
        try check(
            UploadBody(
                objectKey: "k.jpg", uploadUrl: "https://u/?a=1&b=2", assetUrl: "https://a/k.jpg",
                expiresAt: instant, headers: ["content-type": "image/jpeg", "a": "\"b\""]),
            #"{"objectKey":"k.jpg","uploadUrl":"https://u/?a=1&b=2","assetUrl":"https://a/k.jpg","#
                + #""url":"https://a/k.jpg","expiresAt":"2026-03-14T08:00:00Z","#
                + #""headers":{"a":"\"b\"","content-type":"image/jpeg"}}"#)
    }

    @Test func `writes a form's fields by name, and does not print them`() throws {
        let body = PostUploadBody(
            objectKey: "k.bin", uploadUrl: "https://b/", fields: ["policy": "e30=", "key": "k.bin"],
            assetUrl: "https://a/k.bin", maximumBytes: 7, expiresAt: instant)
        try check(
            body,
            #"{"objectKey":"k.bin","uploadUrl":"https://b/","fields":{"key":"k.bin","policy":"e30="},"#
                + #""assetUrl":"https://a/k.bin","maximumBytes":7,"expiresAt":"2026-03-14T08:00:00Z"}"#)
        #expect(!"\(body)".contains("e30="))
    }

    @Test func `writes what an upload in parts is told`() throws {
        try check(
            MultipartUploadBody(
                uploadId: "x-_", objectKey: "k.bin", assetUrl: "https://a/k.bin", partBytes: 8, partCount: 2,
                expiresAt: instant),
            #"{"uploadId":"x-_","objectKey":"k.bin","assetUrl":"https://a/k.bin","partBytes":8,"partCount":2,"#
                + #""expiresAt":"2026-03-14T08:00:00Z"}"#)
        let parts = MultipartPartsBody(
            parts: [.init(partNumber: 2, uploadUrl: "https://u/?X-Amz-Signature=5", contentLength: 3)], partBytes: 8,
            partCount: 2, expiresAt: instant)
        try check(
            parts,
            #"{"partBytes":8,"partCount":2,"expiresAt":"2026-03-14T08:00:00Z","parts":[{"partNumber":2,"#
                + #""uploadUrl":"https://u/?X-Amz-Signature=5","contentLength":3}]}"#)
        #expect(!"\(parts)".contains("Signature"))
        try check(UploadedBody(objectKey: "k.bin", assetUrl: nil), #"{"objectKey":"k.bin"}"#)
    }

    @Test func `writes a batch's results in order, with its counts`() throws {
        try check(
            RenewBatchBody(results: [
                RenewResult(key: "a.bin", renewedUntil: instant), RenewResult(key: "b\n", failure: .notFound),
                RenewResult(key: "a.bin", renewedUntil: nil),
            ]),
            #"{"renewed":2,"failed":1,"results":["#
                + #"{"key":"a.bin","success":true,"expiresAt":"2026-03-14T08:00:00Z"},"#
                + #"{"key":"b\n","success":false,"error":"not_found"},{"key":"a.bin","success":true}]}"#)
    }

    @Test func `writes an error with its sentence and its code`() throws {
        try check(
            ErrorBody(error: "Too many renewal requests", code: .tooManyRequests),
            #"{"error":"Too many renewal requests","code":"too_many_requests"}"#)
    }

    @Test func `reads an error without a code, and a renewal's word that is not known yet`() throws {
        #expect(
            try wireDecoder.decode(ErrorBody.self, from: Data(#"{"error":"Device is disabled"}"#.utf8)).code == nil)
        let result = Data(#"{"key":"a","success":false,"error":"struck_by_lightning"}"#.utf8)
        #expect(
            try wireDecoder.decode(RenewResult.self, from: result) == RenewResult(key: "a", failure: .internalError))
    }

    @Test func `prints no credentials`() {
        let body = ContainerCredentialsBody(
            accessKeyID: "AKID", secretAccessKey: "shh", token: "tok", expiration: instant)
        let credentials = STSTokenBody.Credentials(
            accessKeyId: "AKID", secretAccessKey: "shh", sessionToken: "tok", expiration: instant)
        var text = "\(body) \(credentials) \(STSTokenBody(credentials: credentials, region: "r", bucket: "b"))"
        dump(body, to: &text)
        dump(credentials, to: &text)
        for secret in ["AKID", "shh", "tok"] { #expect(!text.contains(secret)) }
    }
}

struct WireDateTests {
    @Test func `agrees with Foundation about days since the calendar of today began`() throws {
        let style = Date.ISO8601FormatStyle()
        for day in stride(from: -140_000, through: 400_000, by: 17) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + Double(abs(day) % 86_400))
            #expect(date.wireText == date.formatted(style))
        }
    }

    @Test(arguments: [
        (0.0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (1.999, "1970-01-01T00:00:01Z"),
        (-0.5, "1969-12-31T23:59:59Z"),
    ])
    func `cuts the fraction off`(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).wireText == text)
    }

    @Test func `reads what it writes`() {
        for day in stride(from: -140_000, through: 400_000, by: 17) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + Double(abs(day) % 86_400))
            #expect(Date(wireText: date.wireText) == date)
        }
    }

    @Test(arguments: [
        "2026-03-14T08:00:00.999Z", "2026-03-14T08:00:00.1Z", "2026-03-14T08:00:00+00:00",
        "2026-03-14T08:00:00.123456789+00:00",
    ])
    func `reads a fraction, and UTC under another name`(text: String) {
        #expect(Date(wireText: text) == Date(timeIntervalSince1970: 1_773_475_200))
    }

    @Test(arguments: [
        "", "2026-03-14", "2026-03-14 08:00:00Z", "2026-03-14T08:00:00", "2026-03-14T08:00:00.Z",
        "2026-03-14T08:00:00+01:00", "2026-02-30T08:00:00Z", "2026-13-01T08:00:00Z", "2026-03-14T24:00:00Z",
        "2026-03-14T08:60:00Z", "+026-03-14T08:00:00Z", "2026-03-14T08:00:00Zx", "٢٠٢٦-03-14T08:00:00Z",
        "2026-03-14T08:00:00.00000000000000000000000Z",
    ])
    func `refuses what is no date`(text: String) {
        #expect(Date(wireText: text) == nil)
    }
}
