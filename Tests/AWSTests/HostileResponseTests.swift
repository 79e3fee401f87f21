import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

@testable import CloakroomAWS

/// Responses that no store has reason to give: the key or the request fails, and the next one is served.
struct HostileResponseTests {
    private let fake = FakeRuntime()

    private func address() throws -> ObjectAddress { try #require(ObjectAddress(key: "a.bin")) }

    private static let numbers = [
        "9223372036854775807", "9223372036854775808", "18446744073709551616", "53687091200001", "-1", "+5", "5e3",
        "0x10",
        " 5", "", String(repeating: "9", count: 400),
    ]

    private func renewal(head: HeaderFields) async throws -> Renewal.Outcome {
        let store = FakeStore { request in
            switch request.operation {
            case "copy_object": .s3Error(400, "InvalidRequest", "<Message>larger than 5368709120</Message>")
            default: UpstreamResponse(status: 200, fields: head)
            }
        }
        return try await fake.s3(store).renew(key: "a.bin", deadline: fake.deadline()).outcome
    }

    @Test(arguments: numbers)
    func `an object of no possible size is not copied in parts`(size: String) async throws {
        let outcome = try await renewal(head: ["ETag": "\"e\"", "Content-Length": size])
        #expect(outcome == .unrenewableObject(code: "UnreadableSize"))
    }

    @Test(arguments: ["\u{1}", "a\u{1B}[2J", "a\u{0}b"])
    func `metadata that cannot be sent back refuse their object alone`(value: String) async throws {
        for name in ["x-amz-meta-name", "etag", "x-amz-storage-class"] {
            let outcome = try await renewal(head: ["etag": "e", "Content-Length": "5", name: value])
            #expect(outcome == .unrenewableObject(code: "UnreadableMetadata"))
        }
    }

    @Test(arguments: numbers.map { Optional($0) } + [nil])
    func `such a size in a listing concerns its entry alone`(size: String?) async throws {
        let sizes = [size.map { "<Size>\($0)</Size>" } ?? "", "<Size>53687091200000</Size>"]
        func entries(_ name: String) -> String {
            zip(["a", "b"], sizes).map { "<\(name)><Key>\($0)</Key>\($1)</\(name)>" }.joined()
        }
        let transport = ScriptedTransport(
            .xml(200, "<ListBucketResult>\(entries("Contents"))</ListBucketResult>"),
            .xml(200, "<ListVersionsResult>\(entries("Version"))</ListVersionsResult>"))
        let s3 = try fake.s3(transport)
        let objects = try await s3.list(prefix: "", from: .start, deadline: fake.deadline()).entries
        #expect(objects.map(\.key) == ["a", "b"] && objects.map(\.size) == [nil, 10_000 * (5 << 30)])
        let versions = try await s3.versions(prefix: "", from: nil, deadline: fake.deadline()).entries
        #expect(versions.map(\.key) == ["a", "b"] && versions.map(\.size) == [nil, 10_000 * (5 << 30)])
    }

    @Test func `the largest object that can be uploaded is copied in parts that S3 takes`() {
        let ranges = MultipartCopy.ranges(byteCount: StoredNumber.maximumObjectBytes)
        #expect(ranges.count == 10_000 && ranges.allSatisfy { $0.count == 5 << 30 })
    }

    @Test(arguments: numbers + ["10001"]) func `parts with such numbers and sizes are refused`(number: String)
        async throws
    {
        func part(_ number: String, _ size: String) -> String {
            "<Part><PartNumber>\(number)</PartNumber><Size>\(size)</Size><ETag>e</ETag></Part>"
        }
        var pages = [
            part(number, "5"),
            part("1", "5") + "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\(number)</NextPartNumberMarker>",
        ]
        if number != "10001" { pages.append(part("1", number)) }
        for page in pages {
            let transport = ScriptedTransport(.xml(200, "<ListPartsResult>\(page)</ListPartsResult>"))
            await #expect(throws: AWSError.self) {
                _ = try await fake.s3(transport).parts(of: "u", address(), deadline: fake.deadline())
            }
        }
    }

    @Test(arguments: numbers) func `lifecycle rules with such numbers are unknown`(number: String) async throws {
        let text = """
            <LifecycleConfiguration><Rule><Filter><ObjectSizeGreaterThan>\(number)</ObjectSizeGreaterThan></Filter>\
            <Expiration><Days>\(number)</Days></Expiration></Rule></LifecycleConfiguration>
            """
        let transport = ScriptedTransport(.xml(200, text))
        let rule = try await fake.s3(transport).lifecycle(deadline: fake.deadline()).rules.first
        #expect(rule?.unknown == ["Expiration", "ObjectSizeGreaterThan"])
    }

    @Test func `no client is told to wait for longer than an hour`() {
        #expect(AWSError.retryAfter(["Retry-After": "4294967295"]) == .seconds(3600))
        #expect(AWSError.retryAfter(["x-amz-retry-after": "4294967295"]) == .seconds(3600))
        #expect(AWSError.retryAfter(["Retry-After": "18446744073709551616"]) == nil)
        #expect(AWSError.retryAfter(["Retry-After": "7"]) == .seconds(7))
    }

    private func presignedYear(_ client: S3Client) async throws -> String? {
        let terms = UploadTerms(contentType: "image/jpeg", lifetime: .seconds(900))
        let url = try await client.presignUpload(address(), terms: terms).url.reveal()
        return url.firstRange(of: "X-Amz-Date=").map { String(url[$0.upperBound...].prefix(4)) }
    }

    @Test(arguments: ["Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT"])
    func `a clock that no store has does not become ours`(date: String) async throws {
        let client = try fake.s3(ScriptedTransport(.s3Error(403, "RequestTimeTooSkewed", fields: ["Date": date])))
        #expect(
            await client.renew(key: "a.bin", deadline: fake.deadline()).outcome
                == .misconfigured(code: "RequestTimeTooSkewed"))
        #expect(try await presignedYear(client) == "2026")
    }

    @Test func `a wrong time that a store has told once ends with its next response`() async throws {
        let skewed = UpstreamResponse.s3Error(
            403, "RequestTimeTooSkewed", fields: ["Date": "Fri, 20 Nov 2048 15:00:00 GMT"])
        var copied = UpstreamResponse.copied
        copied.fields.add("Date", "Fri, 20 Nov 2026 14:00:01 GMT")
        let client = try fake.s3(ScriptedTransport(skewed, copied))
        _ = await client.renew(key: "a.bin", deadline: fake.deadline())
        #expect(try await presignedYear(client) == "2026")
    }
}
