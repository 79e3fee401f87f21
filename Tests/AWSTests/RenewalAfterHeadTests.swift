import CloakroomAWS
import Foundation
import CloakroomHTTP
import Testing

/// Where HEAD comes before the copy.
struct RenewalAfterHeadTests {
    private let fake = FakeRuntime()

    private static let renewed = Renewal.Outcome.renewed(expiration: Date(timeIntervalSince1970: 1_797_811_200))

    private static func head(_ more: HeaderFields = [:]) -> UpstreamResponse {
        var fields: HeaderFields = [
            "Content-Type": "image/jpeg", "Content-Length": "5", "ETag": #""e1""#,
            "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT",
        ]
        for field in more { fields[field.name] = field.value }
        return UpstreamResponse(status: 200, fields: fields)
    }

    private func renew(
        _ settings: RenewalSettings, _ answers: UpstreamResponse...
    ) async throws -> (outcome: Renewal.Outcome, requests: [UpstreamRequest]) {
        let transport = ScriptedTransport(answers.map { .success($0) })
        let renewal = await (try fake.s3(transport, renewal: settings)).renew(key: "a.bin", deadline: fake.deadline())
        return (renewal.outcome, transport.requests)
    }

    private static let preserving = RenewalSettings(storageClass: .preserved)

    @Test func `preserves by sending again what no copy keeps`() async throws {
        let (outcome, requests) = try await renew(
            Self.preserving,
            Self.head([
                "x-amz-storage-class": "STANDARD_IA", "x-amz-server-side-encryption": "aws:kms",
                "x-amz-website-redirect-location": "/x", "x-amz-meta-a": "1",
            ]), .copied)
        #expect(outcome == Self.renewed)
        #expect(requests.map(\.method) == ["HEAD", "PUT"])
        let fields = try #require(requests.last?.fields)
        #expect(fields["x-amz-metadata-directive"] == "COPY")
        #expect(fields["x-amz-storage-class"] == "STANDARD_IA")
        #expect(fields["x-amz-server-side-encryption"] == "aws:kms")
        #expect(fields["x-amz-website-redirect-location"] == "/x")
        #expect(fields["x-amz-copy-source-if-match"] == #""e1""#)
        // Kept by the store itself.
        #expect(fields["x-amz-meta-a"] == nil && fields["content-type"] == nil)
    }

    @Test func `preserves where the metadata must be replaced, without looking twice`() async throws {
        let transport = ScriptedTransport(Self.head(["x-amz-meta-a": "1"]), .selfCopyRefused, .copied)
        let client = try fake.s3(transport, renewal: Self.preserving)
        #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        #expect(transport.requests.map(\.method) == ["HEAD", "PUT", "PUT"])
        #expect(transport.requests.last?.fields["x-amz-metadata-directive"] == "REPLACE")
        #expect(transport.requests.last?.fields["x-amz-meta-a"] == "1")
        #expect(transport.requests.last?.fields["x-amz-storage-class"] == "STANDARD")
    }

    @Test(
        arguments: [
            ([("x-amz-storage-class", "GLACIER")], .archived), ([("x-amz-storage-class", "DEEP_ARCHIVE")], .archived),
            (
                [("x-amz-storage-class", "GLACIER"), ("x-amz-restore", #"ongoing-request="true""#)],
                .archived
            ),
            ([("x-amz-archive-status", "DEEP_ARCHIVE_ACCESS")], .archived),
            ([("x-amz-object-lock-legal-hold", "ON")], .unrenewableObject(code: "ObjectLocked")),
            (
                [
                    ("x-amz-object-lock-mode", "GOVERNANCE"),
                    ("x-amz-object-lock-retain-until-date", "2026-11-20T14:00:01Z"),
                ], .unrenewableObject(code: "ObjectLocked")
            ),
            ([("x-amz-object-lock-mode", "COMPLIANCE")], .unrenewableObject(code: "ObjectLocked")),
            (
                [("x-amz-server-side-encryption-customer-algorithm", "AES256")],
                .unrenewableObject(code: "OwnerEncrypted")
            ),
            ([("x-amz-website-redirect-location", "/\u{FFFD}")], .unrenewableObject(code: "UnreadableMetadata")),
            (
                [
                    ("Last-Modified", "Fri, 20 Nov 2026 13:00:00 GMT"),
                    ("x-amz-expiration", #"expiry-date="Mon, 21 Dec 2026 00:00:00 GMT", rule-id="month""#),
                ], .recentlyWritten(expiration: Date(timeIntervalSince1970: 1_797_811_200))
            ),
        ] as [([(String, String)], Renewal.Outcome)])
    func `leaves alone`(what: [(String, String)], outcome: Renewal.Outcome) async throws {
        var fields = HeaderFields()
        for (name, value) in what { fields.add(name, value) }
        for mode in [RenewalSettings.Mode.copy, .replace] {
            let (result, requests) = try await renew(.init(mode: mode, storageClass: .preserved), Self.head(fields))
            #expect(result == outcome)
            #expect(requests.map(\.method) == ["HEAD"])
        }
    }

    @Test(arguments: [
        ["x-amz-storage-class": "GLACIER", "x-amz-restore": #"ongoing-request="false", expiry-date="…""#],
        ["x-amz-storage-class": "GLACIER_IR"], ["x-amz-object-lock-legal-hold": "OFF"],
        [
            "x-amz-object-lock-mode": "GOVERNANCE", "x-amz-object-lock-retain-until-date": "2026-11-20T14:00:00.000Z",
        ],
    ])
    func `copies`(what: [String: String]) async throws {
        var fields = HeaderFields()
        for (name, value) in what { fields.add(name, value) }
        #expect(try await renew(Self.preserving, Self.head(fields), .copied).outcome == Self.renewed)
    }

    /// HEAD says 400, 403 or 404 and no more; GET knows why.
    @Test(
        arguments: [
            (400, .s3Error(400, "InvalidRequest"), .unrenewableObject(code: "InvalidRequest")),
            (403, .s3Error(403, "AccessDenied"), .accessDenied(code: "AccessDenied")),
            (403, .s3Error(404, "NoSuchKey"), .notFound), (404, .s3Error(404, "NoSuchKey"), .notFound),
            (404, .s3Error(404, "NoSuchBucket"), .misconfigured(code: "NoSuchBucket")),
            (404, .s3Error(403, "AccessDenied"), .accessDenied(code: "AccessDenied")),
            (403, .s3Error(403, "InvalidObjectState"), .archived),
            (400, .s3Error(400, "KeyTooLongError"), .invalidKey),
            (400, .s3Error(400, "XMinioInvalidResourceName"), .invalidKey),
            (400, .s3Error(400, "ExpiredToken"), .misconfigured(code: "ExpiredToken")),
            (404, .xml(404, "<html>NoSuchKey"), .misconfigured(code: "Status404")),
        ] as [(Int, UpstreamResponse, Renewal.Outcome)])
    func `asks why HEAD says no`(status: Int, reason: UpstreamResponse, outcome: Renewal.Outcome) async throws {
        let (result, requests) = try await renew(Self.preserving, UpstreamResponse(status: status), reason)
        #expect(result == outcome)
        #expect(requests.map(\.operation) == ["head_object", "get_object"])
    }

    @Test func `takes neither a silent HEAD nor a GET alone for an answer`() async throws {
        let (outcome, requests) = try await renew(
            Self.preserving, UpstreamResponse(status: 403), .xml(206, "x"), UpstreamResponse(status: 403),
            .xml(206, "x"))
        #expect(outcome == .accessDenied(code: "Status403"))
        #expect(requests.count == 4)
        let created = try await renew(
            Self.preserving, UpstreamResponse(status: 404), .xml(206, "x"), Self.head(), .copied)
        #expect(created.outcome == Self.renewed)
    }

    @Test(arguments: ["", "<Condition>If-Match</Condition>", "<Condition>x-amz-copy-source-If-Match</Condition>"])
    func `looks when 412 does not say that the object is young`(condition: String) async throws {
        let conflict = UpstreamResponse.s3Error(412, "PreconditionFailed", condition)
        let (outcome, requests) = try await renew(.init(), conflict, Self.head(), .copied)
        #expect(outcome == Self.renewed)
        #expect(requests.map(\.method) == ["PUT", "HEAD", "PUT"])
        let young = Self.head(["Last-Modified": "Fri, 20 Nov 2026 13:00:00 GMT"])
        #expect(try await renew(.init(), conflict, young).outcome == .recentlyWritten(expiration: nil))
    }

    @Test func `looks at an object that S3 does not copy as it is, and gives up on a small one`() async throws {
        let refusal = UpstreamResponse.s3Error(400, "InvalidRequest", "<Message>no</Message>")
        let (outcome, requests) = try await renew(.init(), refusal, Self.head(), refusal)
        #expect(outcome == .unrenewableObject(code: "InvalidRequest"))
        #expect(requests.map(\.method) == ["PUT", "HEAD", "PUT"])
    }

    @Test func `asks a store that refused again after an hour, with one copy`() async throws {
        let mind = FakeStore.Flag()
        let store = FakeStore { request in
            switch request.operation {
            case "head_object": return Self.head()
            default:
                let replaces = request.fields["x-amz-metadata-directive"] == "REPLACE"
                return replaces || mind.isSet ? .copied : .selfCopyRefused
            }
        }
        let client = try fake.s3(store)
        func ask() async -> [String] {
            let before = store.requests.count
            #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
            return store.requests[before...].map { $0.fields["x-amz-metadata-directive"] ?? $0.method }
        }
        #expect(await ask() == ["COPY", "HEAD", "REPLACE"])
        #expect(await ask() == ["HEAD", "REPLACE"])
        fake.pass(.seconds(3600))
        #expect(await ask() == ["COPY", "HEAD", "REPLACE"])
        mind.set()
        #expect(await ask() == ["HEAD", "REPLACE"])
        fake.pass(.seconds(3600))
        #expect(await ask() == ["COPY"])
        #expect(await ask() == ["COPY"])
    }

    @Test func `goes over to replacing when a store that took copies refuses one`() async throws {
        let transport = ScriptedTransport(.copied, .selfCopyRefused, Self.head(), .copied)
        let client = try fake.s3(transport)
        for _ in 1...2 {
            #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        }
        #expect(transport.requests.map(\.method) == ["PUT", "PUT", "HEAD", "PUT"])
    }

    @Test func `says so when a store refuses even the other way`() async throws {
        let (outcome, _) = try await renew(.init(mode: .replace), Self.head(), .selfCopyRefused)
        #expect(outcome == .misconfigured(code: "InvalidRequest"))
    }

    // MARK: Tags

    private static func tagging(_ text: String) -> UpstreamResponse {
        .xml(200, "<Tagging><TagSet>\(text)</TagSet></Tagging>")
    }

    private static let tagged = head(["x-amz-tagging-count": "1"])
    private static let tag = tagging("<Tag><Key>k</Key><Value>v</Value></Tag>")

    @Test func `watches over tags once, where the metadata are replaced`() async throws {
        let transport = ScriptedTransport(Self.tagged, Self.tag, .copied, Self.tag, Self.tagged, .copied)
        let client = try fake.s3(transport, renewal: .init(mode: .replace))
        for _ in 1...2 {
            #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        }
        #expect(
            transport.requests.map(\.operation) == [
                "head_object", "get_object_tagging", "copy_object", "get_object_tagging", "head_object", "copy_object",
            ])
    }

    @Test func `puts lost tags back, and copies no other object with tags so`() async throws {
        let transport = ScriptedTransport(
            Self.tagged, Self.tag, .copied, Self.tagging(""), UpstreamResponse(status: 200), Self.tagged)
        let client = try fake.s3(transport, renewal: .init(mode: .replace))
        #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        let put = try #require(transport.requests.last)
        #expect(put.operation == "put_object_tagging")
        #expect(String(decoding: put.body, as: UTF8.self).contains("<Tag><Key>k</Key><Value>v</Value></Tag>"))
        #expect(
            await client.renew(key: "a.bin", deadline: fake.deadline()).outcome
                == .unrenewableObject(code: "TagsWouldBeLost"))
        #expect(transport.requests.map(\.operation).count { $0 == "copy_object" } == 1)
    }

    @Test func `takes no page for the response that lost tags are back`() async throws {
        let transport = ScriptedTransport(
            Self.tagged, Self.tag, .copied, Self.tagging(""), .xml(200, "<html>Welcome</html>"),
            UpstreamResponse(status: 200))
        let client = try fake.s3(transport, renewal: .init(mode: .replace))
        #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        #expect(transport.requests.map(\.operation).suffix(2) == ["put_object_tagging", "put_object_tagging"])
    }

    /// A store that drops tags: it has none any more once it has copied.
    private func forgetful(_ copy: @escaping @Sendable () -> UpstreamResponse) -> FakeStore {
        let copied = FakeStore.Flag()
        return FakeStore { request in
            switch request.operation {
            case "head_object": return Self.tagged
            case "get_object_tagging": return copied.isSet ? Self.tagging("") : Self.tag
            case "copy_object":
                copied.set()
                return copy()
            default: return UpstreamResponse(status: 200)
            }
        }
    }

    @Test func `puts lost tags back after the deadline as well`() async throws {
        let store = forgetful {
            fake.pass(.seconds(60))
            return .copied
        }
        let outcome = await (try fake.s3(store, renewal: .init(mode: .replace)))
            .renew(key: "a.bin", deadline: fake.deadline()).outcome
        #expect(outcome == Self.renewed)
        #expect(store.requests.last?.operation == "put_object_tagging")
    }

    @Test func `puts tags back that a copy has lost whose answer did not come`() async throws {
        let store = forgetful { UpstreamResponse(status: 500) }
        let outcome = await (try fake.s3(store, renewal: .init(mode: .replace)))
            .renew(key: "a.bin", deadline: fake.deadline()).outcome
        #expect(outcome == .unavailable(retryAfter: nil, code: "Status500"))
        #expect(store.requests.last?.operation == "put_object_tagging")
    }

    @Test(arguments: [
        UpstreamResponse.s3Error(503, "SlowDown"), .s3Error(403, "AccessDenied"), .s3Error(403, "ExpiredToken"),
    ])
    func `puts tags back that an earlier attempt has lost`(last: UpstreamResponse) async throws {
        let isRetry = FakeStore.Flag()
        let store = forgetful {
            defer { isRetry.set() }
            return isRetry.isSet ? last : UpstreamResponse(status: 500)
        }
        _ = await (try fake.s3(store, renewal: .init(mode: .replace))).renew(key: "a.bin", deadline: fake.deadline())
        #expect(store.requests.count { $0.operation == "copy_object" } > 1)
        #expect(store.requests.last?.operation == "put_object_tagging")
    }

    @Test func `puts lost tags back when the renewal is cancelled`() async throws {
        let store = forgetful {
            withUnsafeCurrentTask { $0?.cancel() }
            return UpstreamResponse(status: 500)
        }
        let client = try fake.s3(store, renewal: .init(mode: .replace))
        let renewal = Task { await client.renew(key: "a.bin", deadline: fake.deadline()) }
        _ = await renewal.value
        #expect(
            store.requests.map(\.operation).suffix(3) == ["copy_object", "get_object_tagging", "put_object_tagging"])
    }

    @Test func `leaves the tags alone when the first attempt is refused`() async throws {
        let (outcome, requests) = try await renew(
            .init(mode: .replace), Self.tagged, Self.tag, .s3Error(403, "AccessDenied"))
        #expect(outcome == .accessDenied(code: "AccessDenied"))
        #expect(requests.map(\.operation) == ["head_object", "get_object_tagging", "copy_object"])
    }

    @Test func `learns nothing about tags from a copy that was not made`() async throws {
        let failed = UpstreamResponse(status: 500)
        let transport = ScriptedTransport(
            Self.tagged, Self.tag, failed, failed, failed, Self.tag, Self.tagged, Self.tag, .copied, Self.tag)
        let client = try fake.s3(transport, renewal: .init(mode: .replace))
        _ = await client.renew(key: "a.bin", deadline: fake.deadline())
        #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        #expect(transport.requests.count == 10)
    }

    @Test func `replaces nothing of an object whose tags it may not read`() async throws {
        let (outcome, requests) = try await renew(
            .init(mode: .replace), Self.tagged, .s3Error(403, "AccessDenied"))
        #expect(outcome == .accessDenied(code: "AccessDenied"))
        #expect(!requests.contains { $0.method == "PUT" })
    }
}
