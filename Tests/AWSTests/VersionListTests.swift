import Foundation
import CloakroomHTTP
import Testing

@testable import CloakroomAWS

struct VersionListTests {
    private let fake = FakeRuntime()

    private func page(_ contents: String) -> UpstreamResponse {
        .xml(
            200,
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>photos</Name>\
            <EncodingType>url</EncodingType>\(contents)</ListVersionsResult>
            """)
    }

    private func version(_ key: String, _ name: String = "Version", latest: Bool, size: String? = "3") -> String {
        "<\(name)><Key>\(key)</Key><VersionId>v</VersionId><IsLatest>\(latest)</IsLatest>"
            + "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            + (size.map { "<Size>\($0)</Size>" } ?? "") + "</\(name)>"
    }

    @Test func `lists versions page after page`() async throws {
        let more =
            "<IsTruncated>true</IsTruncated><NextKeyMarker>a%2B+b</NextKeyMarker>"
            + "<NextVersionIdMarker>v/1</NextVersionIdMarker>"
        let transport = ScriptedTransport(
            page(
                more + version("a%2B+b", "DeleteMarker", latest: true, size: nil)
                    + version("a%2B+b", latest: false, size: "7")),
            page("<IsTruncated>false</IsTruncated>" + version("c", latest: true)))
        let s3 = try fake.s3(transport)
        let first = try await s3.versions(prefix: "", from: nil, deadline: fake.deadline())
        #expect(first.entries.map(\.key) == ["a+ b", "a+ b"] && first.entries.map(\.size) == [0, 7])
        #expect(
            first.entries.map(\.isDeleteMarker) == [true, false] && first.entries.map(\.isLatest) == [true, false])
        #expect(first.next == VersionPage.Position(key: "a+ b", version: "v/1"))
        let second = try await s3.versions(prefix: "", from: first.next, deadline: fake.deadline())
        #expect(second.entries.map(\.size) == [3] && second.next == nil)
        let host = "https://photos.s3.eu-west-1.amazonaws.com/?encoding-type=url"
        #expect(
            transport.requests.map(\.url) == [
                host + "&max-keys=1000&prefix=&versions=",
                host + "&key-marker=a%2B%20b&max-keys=1000&prefix=&version-id-marker=v%2F1&versions=",
            ])
    }

    @Test(arguments: [("e", "e%CC%81cole.jpg"), ("photos/u_1/", "photos/u_1/%CC%81x")])
    func `lists versions of keys with a combining mark behind the prefix`(prefix: String, key: String) async throws {
        let marker = version(key, "DeleteMarker", latest: true, size: nil)
        let s3 = try fake.s3(ScriptedTransport(page(marker + version(key, latest: false))))
        let listed = try await s3.versions(prefix: prefix, from: nil, deadline: fake.deadline())
        #expect(listed.entries.map { PercentEncoding.encode($0.key, keepingSlashes: true) } == [key, key])
    }

    @Test(arguments: [
        "<IsTruncated>true</IsTruncated>",
        "<Version><Key>b/a</Key><Size>1</Size></Version>", "<Version><Size>1</Size></Version>",
    ])
    func `takes no other answer for a listing`(contents: String) async throws {
        let s3 = try fake.s3(ScriptedTransport(page(contents), page(contents), page(contents)))
        await #expect(throws: AWSError.self) {
            try await s3.versions(prefix: "a", from: nil, deadline: fake.deadline())
        }
    }
}
