import CloakroomAWS
import Foundation
import CloakroomHTTP
import Synchronization
import Testing

/// Objects larger than one copy takes.
struct LargeRenewalTests {
    private let fake = FakeRuntime()

    private static let size = 6 << 30

    private static func head(_ tag: String = "e1", size: Int = size, age: String = "01 Nov") -> UpstreamResponse {
        UpstreamResponse(
            status: 200,
            fields: [
                "Content-Type": "video/mp4", "Content-Length": String(size), "ETag": "\"\(tag)\"",
                "Last-Modified": "Sun, \(age) 2026 00:00:00 GMT",
            ])
    }

    private static let completed = UpstreamResponse.xml(
        200, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>",
        fields: ["x-amz-expiration": #"expiry-date="Mon, 21 Dec 2026 00:00:00 GMT", rule-id="month""#])

    /// - Parameter answer: to what is not as usual.
    private func renew(
        _ answer: @escaping @Sendable (UpstreamRequest) -> UpstreamResponse?, _ settings: RenewalSettings = .init()
    ) async throws -> (outcome: Renewal.Outcome, operations: [String: Int]) {
        let store = FakeStore { request in
            if let answer = answer(request) { return answer }
            switch request.operation {
            case "copy_object":
                return .s3Error(
                    400, "InvalidRequest", "<Message>The specified copy source is larger than …: 5368709120</Message>")
            case "head_object": return Self.head()
            case "get_object_tagging": return .xml(200, "<Tagging><TagSet/></Tagging>")
            case "create_multipart_upload":
                return .xml(
                    200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
            case "upload_part_copy": return .xml(200, "<CopyPartResult><ETag>p</ETag></CopyPartResult>")
            case "complete_multipart_upload": return Self.completed
            default: return UpstreamResponse(status: 204)
            }
        }
        let client = try fake.s3(store, renewal: settings)
        var outcome = await client.renew(key: "a.bin", deadline: fake.deadline()).outcome
        if outcome == Self.stillCopying {
            await fake.settle()
            outcome = await client.renew(key: "a.bin", deadline: fake.deadline()).outcome
        }
        await fake.settle()
        return (outcome, Dictionary(store.requests.map { ($0.operation, 1) }, uniquingKeysWith: +))
    }

    private static let stillCopying = Renewal.Outcome.unavailable(retryAfter: .seconds(10), code: "StillCopying")
    private static let renewed = Renewal.Outcome.renewed(expiration: Date(timeIntervalSince1970: 1_797_811_200))

    @Test func `copies in parts what one copy refuses`() async throws {
        let (outcome, operations) = try await renew { _ in nil }
        #expect(outcome == Self.renewed)
        #expect(
            operations == [
                "copy_object": 1, "head_object": 1, "get_object_tagging": 1, "create_multipart_upload": 1,
                "upload_part_copy": 24, "complete_multipart_upload": 1,
            ])
    }

    @Test(arguments: [(5 << 30, 0), ((5 << 30) + 1, 21)])
    func `copies whole what one copy takes`(size: Int, parts: Int) async throws {
        let (outcome, operations) = try await renew(
            { request in
                switch request.operation {
                case "head_object": Self.head(size: size)
                case "copy_object": .copied
                default: nil
                }
            }, .init(storageClass: .preserved))
        #expect(outcome == Self.renewed)
        #expect(operations["upload_part_copy"] ?? 0 == parts)
    }

    @Test(arguments: [
        "upload_part_copy", "complete_multipart_upload",
    ])
    func `takes 200 with anything but the result for a failure that passes`(operation: String) async throws {
        for body in ["  \n<Error><Code>InternalError</Code></Error>", "", "   ", "<html/>", "<CopyPartResult/>"] {
            let failures = Mutex(2)
            let (outcome, operations) = try await renew { request in
                guard request.operation == operation else { return nil }
                let fails = failures.withLock { count in
                    count -= 1
                    return count >= 0
                }
                return fails ? .xml(200, body) : nil
            }
            #expect(outcome == Self.renewed)
            #expect(operations["abort_multipart_upload"] == nil)
            let never = try await renew { $0.operation == operation ? .xml(200, body) : nil }
            guard case .unavailable = never.outcome else {
                Issue.record("\(never.outcome)")
                continue
            }
            // S3 may make the object yet.
            #expect(never.operations["abort_multipart_upload"] == (operation == "upload_part_copy" ? 1 : nil))
        }
    }

    @Test func `gives up no upload of which the object may have been made`() async throws {
        let isRetry = FakeStore.Flag()
        let unheard = try await renew { request in
            guard request.operation == "complete_multipart_upload" else { return nil }
            defer { isRetry.set() }
            return isRetry.isSet ? .s3Error(412, "PreconditionFailed") : UpstreamResponse(status: 500)
        }
        #expect(unheard.operations["complete_multipart_upload"] ?? 0 > 1)
        #expect(unheard.operations["abort_multipart_upload"] ?? 0 < 2)
        let refused = try await renew { request in
            request.operation == "complete_multipart_upload" ? .s3Error(403, "AccessDenied") : nil
        }
        #expect(refused.outcome == .accessDenied(code: "AccessDenied"))
        #expect(refused.operations["abort_multipart_upload"] == 1)
    }

    /// Some stores know no condition when an upload in parts is completed.
    @Test(arguments: [false, true])
    func `looks before it completes where no condition is known`(isWrittenMeanwhile: Bool) async throws {
        let asked = FakeStore.Flag()
        let (outcome, operations) = try await renew { request in
            switch request.operation {
            case "complete_multipart_upload" where request.fields["if-match"] != nil:
                asked.set()
                return .s3Error(501, "NotImplemented")
            case "head_object" where asked.isSet && isWrittenMeanwhile: return Self.head("e2", age: "20 Nov")
            default: return nil
            }
        }
        #expect(outcome == (isWrittenMeanwhile ? .recentlyWritten(expiration: nil) : Self.renewed))
        #expect(operations["complete_multipart_upload"] == (isWrittenMeanwhile ? 1 : 2))
        #expect(operations["abort_multipart_upload"] == (isWrittenMeanwhile ? 1 : nil))
    }

    @Test func `gives the upload up when a part fails for good`() async throws {
        let (outcome, operations) = try await renew { request in
            request.partNumber == 3 ? .s3Error(403, "AccessDenied") : nil
        }
        #expect(outcome == .accessDenied(code: "AccessDenied"))
        #expect(operations["complete_multipart_upload"] == nil)
        #expect(operations["abort_multipart_upload"] == 1)
    }

    @Test(arguments: ["upload_part_copy", "complete_multipart_upload"])
    func `starts over when somebody writes meanwhile, and gives the upload up`(operation: String) async throws {
        let conflict = UpstreamResponse.s3Error(412, "PreconditionFailed")
        let (outcome, operations) = try await renew { request in
            guard request.operation == operation, request.fields.contains(where: { $0.value == "\"e1\"" }) else {
                return nil
            }
            return conflict
        }
        #expect(outcome == .unavailable(retryAfter: nil, code: "ChangedMeanwhile"))
        #expect(operations["abort_multipart_upload"] == 2)
    }

    @Test func `finds out what became of an upload whose end it did not hear`() async throws {
        let ended = FakeStore.Flag()
        let (outcome, _) = try await renew { request in
            switch request.operation {
            case "complete_multipart_upload":
                defer { ended.set() }
                return ended.isSet ? .s3Error(404, "NoSuchUpload") : .xml(200, "  ")
            case "head_object" where ended.isSet: return Self.head("e2", age: "20 Nov")
            default: return nil
            }
        }
        #expect(outcome == .recentlyWritten(expiration: nil))
    }

    @Test(
        arguments: [
            ("", nil), ("<Tag><Key>b</Key><Value>1 2</Value></Tag><Tag><Key>a</Key><Value/></Tag>", "a=&b=1%202"),
        ] as [(String, String?)])
    func `the copy has the tags of the object, and no field for none`(tags: String, field: String?) async throws {
        let sent = Mutex<[String?]>([])
        let (outcome, _) = try await renew { request in
            switch request.operation {
            case "get_object_tagging": return .xml(200, "<Tagging><TagSet>\(tags)</TagSet></Tagging>")
            case "create_multipart_upload":
                sent.withLock { $0.append(request.fields["x-amz-tagging"]) }
                return nil
            default: return nil
            }
        }
        #expect(outcome == Self.renewed)
        #expect(sent.withLock { $0 } == [field])
    }

    /// As Ceph does.
    @Test(arguments: [true, false])
    func `puts back the tags that a store dropped of a multipart upload`(saysSo: Bool) async throws {
        let set = "<TagSet><Tag><Key>team</Key><Value>a b</Value></Tag></TagSet>"
        let isMade = Mutex(false)
        let restored = Mutex<[String]>([])
        let (outcome, operations) = try await renew { request in
            switch request.operation {
            case "get_object_tagging":
                return .xml(200, "<Tagging>\(isMade.withLock { $0 } ? "<TagSet/>" : set)</Tagging>")
            case "complete_multipart_upload":
                isMade.withLock { $0 = true }
                return saysSo ? nil : .s3Error(500, "InternalError")
            case "put_object_tagging":
                restored.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                return UpstreamResponse(status: 200)
            default: return nil
            }
        }
        #expect(saysSo == (outcome == Self.renewed))
        #expect(operations["get_object_tagging"] == 2 && operations["put_object_tagging"] == 1)
        #expect(restored.withLock { $0.count == 1 && $0[0].contains(set) })
    }

    /// As Ceph does, which says of an upload that was completed that there is no such key.
    @Test(
        arguments: [
            (404, "NoSuchKey", true), (404, "NoSuchUpload", true), (412, "PreconditionFailed", true),
            (412, "PreconditionFailed", false),
        ] as [(Int, String, Bool)])
    func `puts back dropped tags when the response to the completion is lost, and on no other object`(
        status: Int, code: String, isOurs: Bool
    ) async throws {
        let part = "d41d8cd98f00b204e9800998ecf8427e"
        // The MD5 of 24 such MD5s.
        let whole = "8ea1e62481cd60ebf2086f77d19a8bf4-24"
        let set = "<TagSet><Tag><Key>team</Key><Value>a b</Value></Tag></TagSet>"
        let isMade = FakeStore.Flag()
        let restored = Mutex<[String]>([])
        let (outcome, operations) = try await renew { request in
            switch request.operation {
            case "get_object_tagging": return .xml(200, "<Tagging>\(isMade.isSet ? "<TagSet/>" : set)</Tagging>")
            case "upload_part_copy":
                return .xml(200, "<CopyPartResult><ETag>&quot;\(part)&quot;</ETag></CopyPartResult>")
            case "complete_multipart_upload":
                defer { isMade.set() }
                return isMade.isSet ? .s3Error(status, code) : .s3Error(500, "InternalError")
            case "head_object" where isMade.isSet: return Self.head(isOurs ? whole : "e2", age: "20 Nov")
            case "put_object_tagging":
                restored.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                return UpstreamResponse(status: 200)
            default: return nil
            }
        }
        #expect(outcome == .recentlyWritten(expiration: nil))
        #expect(operations["complete_multipart_upload"] == 2 && operations["abort_multipart_upload"] == nil)
        #expect(operations["put_object_tagging"] == (isOurs ? 1 : nil))
        #expect(restored.withLock { $0.allSatisfy { $0.contains(set) } })
    }

    @Test func `copies nothing whose tags it may not read`() async throws {
        let (outcome, operations) = try await renew { request in
            request.operation == "get_object_tagging" ? .s3Error(403, "AccessDenied") : nil
        }
        #expect(outcome == .accessDenied(code: "AccessDenied"))
        #expect(operations["create_multipart_upload"] == nil)
        let tagless = try await renew { request in
            request.operation == "get_object_tagging" ? .s3Error(501, "NotImplemented") : nil
        }
        #expect(tagless.outcome == Self.renewed)
    }
}
