import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct MultipartTests {
    private let fake = FakeRuntime()

    private func address() throws -> ObjectAddress { try #require(ObjectAddress(key: "a b.bin")) }

    private static let origin = "https://photos.s3.eu-west-1.amazonaws.com/a%20b.bin"
    private static let begun = UpstreamResponse.xml(
        200,
        #"<?xml version="1.0"?><InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
            + "<Bucket>photos</Bucket><Key>a b.bin</Key><UploadId>id/1+=</UploadId></InitiateMultipartUploadResult>")
    private static let completed =
        "<CompleteMultipartUploadResult><Location>x</Location><ETag>&quot;e-2&quot;</ETag>"
        + "</CompleteMultipartUploadResult>"
    private static let noSuchUpload = UpstreamResponse.s3Error(404, "NoSuchUpload")
    private static let parts = [
        UploadedPart(number: 1, entityTag: #""a""#, byteCount: 5),
        UploadedPart(number: 2, entityTag: "b", byteCount: 1),
    ]

    private func complete(_ transport: ScriptedTransport) async throws -> MultipartCompletion {
        try await fake.s3(transport).completeMultipartUpload(
            try address(), uploadID: "id/1+=", parts: Self.parts, deadline: fake.deadline())
    }

    @Test func `begins an upload`() async throws {
        let transport = ScriptedTransport(Self.begun)
        let id = try await fake.s3(transport).createMultipartUpload(
            try address(), contentType: "video/mp4", fields: ["x-amz-meta-sha256": "ab"], deadline: fake.deadline())
        #expect(id == "id/1+=")
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "POST" && sent.url == "\(Self.origin)?uploads" && sent.body.isEmpty)
        #expect(sent.fields["content-type"] == "video/mp4" && sent.fields["x-amz-meta-sha256"] == "ab")
    }

    @Test func `an answer without an id has begun nothing`() async throws {
        for answer in [
            UpstreamResponse(status: 200), .xml(200, "<InitiateMultipartUploadResult/>"),
            .xml(200, "<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>"),
            .s3Error(200, "InternalError"), .s3Error(403, "AccessDenied"),
        ] {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).createMultipartUpload(
                    try address(), contentType: "video/mp4", deadline: fake.deadline())
            }
        }
    }

    @Test func `signs each part with its number and its length`() async throws {
        let (urls, expiration) = try await fake.s3(ScriptedTransport([])).presignParts(
            try address(), uploadID: "id/1+=", parts: [.init(number: 1, byteCount: 8), .init(number: 2, byteCount: 3)],
            lifetime: .seconds(900))
        #expect(expiration == Date(timeIntervalSince1970: 1_795_184_100))
        for (index, url) in urls.map({ $0.reveal() }).enumerated() {
            #expect(url.hasPrefix("\(Self.origin)?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
            #expect(url.contains("&X-Amz-Expires=900&X-Amz-SignedHeaders=content-length%3Bhost&"))
            #expect(url.contains("&partNumber=\(index + 1)&uploadId=id%2F1%2B%3D&X-Amz-Signature="))
        }
        #expect(Set(urls.map { $0.reveal().suffix(64) }).count == 2)
    }

    @Test func `reads the parts, page by page`() async throws {
        func page(_ parts: String, _ rest: String) -> UpstreamResponse {
            .xml(200, "<ListPartsResult>\(parts)\(rest)</ListPartsResult>")
        }
        func part(_ number: Int) -> String {
            "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;t&quot;</ETag><Size>\(number)</Size></Part>"
        }
        let transport = ScriptedTransport(
            page(
                part(1) + part(2),
                "<IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>"),
            page(part(3), "<IsTruncated>false</IsTruncated>"))
        let found = try await fake.s3(transport).parts(of: "id/1+=", try address(), deadline: fake.deadline())
        #expect(found == (1...3).map { UploadedPart(number: $0, entityTag: #""t""#, byteCount: $0) })
        let queries = transport.requests.map { String($0.url.dropFirst(Self.origin.count)) }
        #expect(
            queries == [0, 2].map { "?max-parts=1000&part-number-marker=\($0)&uploadId=id%2F1%2B%3D" })
        let empty = ScriptedTransport(page("", ""))
        #expect(try await fake.s3(empty).parts(of: "i", try address(), deadline: fake.deadline()) == [])
        let gone = ScriptedTransport(Self.noSuchUpload)
        #expect(try await fake.s3(gone).parts(of: "i", try address(), deadline: fake.deadline()) == nil)
        // Ceph's words for it.
        let completed = ScriptedTransport(.s3Error(404, "NoSuchKey"))
        #expect(try await fake.s3(completed).parts(of: "i", try address(), deadline: fake.deadline()) == nil)
        for answer in [
            page(part(0), ""), page(part(10_001), ""), page("<Part><PartNumber>1</PartNumber></Part>", ""),
            page(part(1), "<IsTruncated>true</IsTruncated>"), .s3Error(404, "NoSuchBucket"),
            .s3Error(200, "InternalError"),
            page("", "<IsTruncated>true</IsTruncated><NextPartNumberMarker>0</NextPartNumberMarker>"),
        ] {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).parts(of: "i", address(), deadline: fake.deadline())
            }
        }
    }

    @Test func `the tag of the whole is the MD5 of the parts' MD5s, and none where a tag is no MD5`() {
        let tag = "d41d8cd98f00b204e9800998ecf8427e"
        #expect(StoredObject.md5(ofParts: ["\"\(tag)\"", tag]) == "5873dd45edd01f09c1ef2e7819369e8e")
        for other in ["", "x", String(tag.dropLast(2)), tag + "00", tag + tag] {
            #expect(StoredObject.md5(ofParts: [tag, other]) == nil, "\(other)")
        }
    }

    @Test func `completes only what makes a new object`() async throws {
        let transport = ScriptedTransport(.xml(200, Self.completed))
        #expect(try await complete(transport) == .completed)
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "POST" && sent.url == "\(Self.origin)?uploadId=id%2F1%2B%3D")
        #expect(sent.fields["if-none-match"] == "*")
        #expect(
            String(decoding: sent.body, as: UTF8.self)
                == #"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part>"#
                + #"<PartNumber>1</PartNumber><ETag>"a"</ETag></Part><Part><PartNumber>2</PartNumber><ETag>b</ETag>"#
                + "</Part></CompleteMultipartUpload>")
    }

    @Test(
        arguments: [
            ("  \n\n  <?xml version=\"1.0\"?>\n" + completed, 200, .completed),
            ("<Error><Code>NoSuchUpload</Code></Error>", 404, .noSuchUpload),
            ("<Error><Code>PreconditionFailed</Code></Error>", 412, .objectExists),
            ("<Error><Code>InvalidPart</Code></Error>", 400, .partsRefused(code: "InvalidPart")),
            ("<Error><Code>EntityTooSmall</Code></Error>", 400, .partsRefused(code: "EntityTooSmall")),
        ] as [(String, Int, MultipartCompletion)])
    func `knows S3's word on it`(body: String, status: Int, completion: MultipartCompletion) async throws {
        #expect(try await complete(ScriptedTransport(.xml(status, body))) == completion)
    }

    @Test func `an error behind 200 and blanks is tried again`() async throws {
        for failed in [
            "\n  \n<?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>", "", "   ",
            "<CompleteMultipartUploadResult/>", "<html></html>",
        ] {
            let transport = ScriptedTransport(.xml(200, failed), .xml(200, Self.completed))
            #expect(try await complete(transport) == .completed)
            #expect(transport.requests.count == 2)
        }
        await #expect(throws: AWSError.self) { try await complete(ScriptedTransport(.xml(200, ""))) }
    }

    @Test func `does without the condition where the store knows of none, and remembers`() async throws {
        let transport = ScriptedTransport(
            .s3Error(501, "NotImplemented"), .xml(200, Self.completed), .xml(200, Self.completed))
        let client = try fake.s3(transport)
        for _ in 0..<2 {
            let completion = try await client.completeMultipartUpload(
                try address(), uploadID: "i", parts: Self.parts, deadline: fake.deadline())
            #expect(completion == .completed)
        }
        #expect(transport.requests.map { $0.fields["if-none-match"] } == ["*", nil, nil])
    }

    @Test func `gives up an upload once`() async throws {
        let transport = ScriptedTransport(
            UpstreamResponse(status: 204), Self.noSuchUpload, .s3Error(403, "AccessDenied"))
        let client = try fake.s3(transport)
        #expect(try await client.abortMultipartUpload(try address(), uploadID: "i", deadline: fake.deadline()))
        #expect(
            try await client.abortMultipartUpload(try address(), uploadID: "i", deadline: fake.deadline()) == false)
        await #expect(throws: AWSError(.refused, status: 403, code: "AccessDenied")) {
            try await client.abortMultipartUpload(try address(), uploadID: "i", deadline: fake.deadline())
        }
        #expect(transport.requests.first?.method == "DELETE")
        #expect(transport.requests.first?.url == "\(Self.origin)?uploadId=i")
    }

    @Test(arguments: ["", "<html>Welcome</html>", "<AbortMultipartUploadResult/>"])
    func `an upload is given up when the store says so as S3 does, and by no other success`(body: String) async throws {
        await #expect(throws: AWSError(.transient, status: 200, code: "Status200")) {
            try await fake.s3(ScriptedTransport(.xml(200, body)))
                .abortMultipartUpload(try address(), uploadID: "i", deadline: fake.deadline())
        }
        let transport = ScriptedTransport(.xml(200, body), UpstreamResponse(status: 204))
        #expect(
            try await fake.s3(transport).abortMultipartUpload(
                try address(), uploadID: "i", deadline: fake.deadline()))
        #expect(transport.requests.map(\.method) == ["DELETE", "DELETE"])
    }
}
