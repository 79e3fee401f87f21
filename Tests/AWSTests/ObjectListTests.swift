import CloakroomAWS
import Foundation
import CloakroomHTTP
import Testing

struct ObjectListTests {
    private let fake = FakeRuntime()

    private func page(_ contents: String, _ more: String = "") -> UpstreamResponse {
        .xml(
            200,
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>photos</Name>\
            <EncodingType>url</EncodingType>\(more)\(contents)</ListBucketResult>
            """)
    }

    private func entry(_ key: String, _ size: String) -> String {
        "<Contents><Key>\(key)</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag>"
            + "<Size>\(size)</Size><StorageClass>STANDARD</StorageClass></Contents>"
    }

    @Test func `lists page after page`() async throws {
        let more = "<IsTruncated>true</IsTruncated><NextContinuationToken>1/+=x</NextContinuationToken>"
        let transport = ScriptedTransport(
            page(entry("photos/u_1/a", "1") + entry("photos/u_1/b%2Bc+d%C3%BC", "20"), more),
            page(entry("photos/u_2/a", "0"), "<IsTruncated>false</IsTruncated>"))
        let s3 = try fake.s3(transport)
        let first = try await s3.list(prefix: "photos/", from: .start, deadline: fake.deadline())
        #expect(first.entries.map(\.key) == ["photos/u_1/a", "photos/u_1/b+c dü"])
        #expect(first.entries.map(\.size) == [1, 20] && first.continuation == "1/+=x")
        let second = try await s3.list(
            prefix: "photos/", from: .continuation("1/+=x"), deadline: fake.deadline())
        #expect(second.entries.map(\.size) == [0] && second.continuation == nil)
        _ = try await s3.list(prefix: "", from: .after(key: "photos/ü"), deadline: fake.deadline())
        let host = "https://photos.s3.eu-west-1.amazonaws.com/?"
        #expect(
            transport.requests.map(\.url) == [
                host + "encoding-type=url&list-type=2&max-keys=1000&prefix=photos%2F",
                host
                    + "continuation-token=1%2F%2B%3Dx&encoding-type=url&list-type=2&max-keys=1000&prefix=photos%2F",
                host + "encoding-type=url&list-type=2&max-keys=1000&prefix=&start-after=photos%2F%C3%BC",
            ])
    }

    @Test func `lists folders in place of what is in them`() async throws {
        let more =
            "<Delimiter>%2F</Delimiter><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
        let folders = ["backups%2F", "f%C3%BC+r%2F"].map { "<CommonPrefixes><Prefix>\($0)</Prefix></CommonPrefixes>" }
        let transport = ScriptedTransport(page(entry("a", "1") + folders.joined(), more), page("<CommonPrefixes/>"))
        let s3 = try fake.s3(transport)
        let listed = try await s3.list(prefix: "", delimiter: "/", from: .start, deadline: fake.deadline())
        #expect(listed.entries.map(\.key) == ["a"] && listed.folders == ["backups/", "fü r/"])
        await #expect(throws: AWSError.self) {
            try await s3.list(prefix: "", delimiter: "/", from: .continuation("t"), deadline: fake.deadline())
        }
        let query = "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix="
        #expect(
            transport.requests.prefix(2).map { $0.url.split(separator: "?")[1] } == [
                query[...], "continuation-token=t&\(query)",
            ])
    }

    /// S3 compares bytes: what combines with the prefix's last character is behind it all the same.
    @Test(arguments: [("e", "e%CC%81cole.jpg"), ("photos/u_1/", "photos/u_1/%CC%81x")])
    func `lists keys with a combining mark behind the prefix`(prefix: String, key: String) async throws {
        let folder = "<CommonPrefixes><Prefix>\(key)%2F</Prefix></CommonPrefixes>"
        let transport = ScriptedTransport(page(entry(key, "1")), page(folder))
        let s3 = try fake.s3(transport)
        let keys = try await s3.list(prefix: prefix, from: .start, deadline: fake.deadline())
        #expect(keys.entries.map { PercentEncoding.encode($0.key, keepingSlashes: true) } == [key])
        let folders = try await s3.list(prefix: prefix, delimiter: "/", from: .start, deadline: fake.deadline())
        #expect(folders.folders.map { PercentEncoding.encode($0, keepingSlashes: true) } == [key + "/"])
    }

    @Test func `reads a thousand of the longest keys`() async throws {
        let key = "p/" + String(repeating: "%E2%82%AC", count: 340)
        let transport = ScriptedTransport(page(String(repeating: entry(key, "5000000000000"), count: 1000)))
        let listed = try await fake.s3(transport).list(prefix: "p/", from: .start, deadline: fake.deadline())
        #expect(listed.entries.count == 1000 && listed.entries[999].size == 5_000_000_000_000)
    }

    @Test(arguments: [
        "<Contents><Key>other/u_1/a</Key><Size>1</Size></Contents>",
        "<Contents><Key>photos/%FF</Key><Size>1</Size></Contents>", "<Contents><Size>1</Size></Contents>",
        "<IsTruncated>true</IsTruncated>",
    ])
    func `takes nothing for a page that is none`(contents: String) async throws {
        await #expect(throws: AWSError.self) {
            try await fake.s3(ScriptedTransport(page(contents)))
                .list(prefix: "photos/", from: .start, deadline: fake.deadline())
        }
    }

    @Test func `throws what S3 says`() async throws {
        let transport = ScriptedTransport(.s3Error(403, "AccessDenied"))
        await #expect(throws: AWSError(.refused, status: 403, code: "AccessDenied")) {
            try await fake.s3(transport).list(prefix: "photos/", from: .start, deadline: fake.deadline())
        }
    }
}
