import CloakroomAWS
import CloakroomKitTestSupport
import Foundation
import CloakroomHTTP
import Synchronization
import Testing

/// Copies that take longer than one try (FAULTS row 32).
struct SlowRenewalTests {
    private let fake = FakeRuntime()

    /// Answers by what is asked; `nil` for nothing until the request is cancelled.
    private final class Store: Transport {
        typealias Answer = Result<UpstreamResponse, TransportError>
        private let asked = Mutex<[UpstreamRequest]>([])
        private let answer: @Sendable (UpstreamRequest) -> Answer?

        init(_ answer: @escaping @Sendable (UpstreamRequest) -> Answer?) { self.answer = answer }

        var operations: [String] { asked.withLock { $0.map(\.operation) } }
        func requests(_ operation: String) -> [UpstreamRequest] {
            asked.withLock { $0.filter { $0.operation == operation } }
        }

        func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
            asked.withLock { $0.append(request) }
            guard let answer = answer(request) else {
                do { try await Task.sleep(for: .seconds(3600)) } catch { throw .cancelled }
                throw .timeout
            }
            return try answer.get()
        }
    }

    private static func head(_ size: Int, age: String = "01 Nov", tag: String = "e1") -> UpstreamResponse {
        UpstreamResponse(
            status: 200,
            fields: [
                "Content-Length": String(size), "ETag": "\"\(tag)\"",
                "Last-Modified": "Sun, \(age) 2026 00:00:00 GMT",
            ])
    }

    /// - Parameter answer: to what is not as usual.
    private static func store(
        size: Int, _ answer: @escaping @Sendable (UpstreamRequest) -> Store.Answer?? = { _ in nil }
    ) -> Store {
        Store { request in
            if let answer = answer(request) { return answer }
            switch request.operation {
            case "copy_object": return .failure(.timeout)
            case "head_object": return .success(head(size))
            case "get_object_tagging": return .success(.xml(200, "<Tagging><TagSet/></Tagging>"))
            case "create_multipart_upload":
                return .success(
                    .xml(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"))
            case "upload_part_copy": return .success(.xml(200, "<CopyPartResult><ETag>p</ETag></CopyPartResult>"))
            case "complete_multipart_upload":
                return .success(
                    .xml(200, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"))
            default: return .success(UpstreamResponse(status: 204))
            }
        }
    }

    private func client(
        _ store: Store, _ settings: RenewalSettings = .init(), attempts: Int = 3
    ) throws -> S3Client {
        try fake.s3(
            store, renewal: settings, retry: RetrySettings(maximumAttempts: attempts, timeout: .seconds(5)))
    }

    private func renew(_ client: S3Client, _ key: String = "a.bin") async -> Renewal.Outcome {
        await client.renew(key: key, deadline: fake.deadline()).outcome
    }

    private static let stillCopying = Renewal.Outcome.unavailable(retryAfter: .seconds(10), code: "StillCopying")
    private static let seen = RenewalSettings(storageClass: .preserved)

    @Test(arguments: [RenewalSettings(minimumAge: .zero), RenewalSettings(storageClass: .preserved, minimumAge: .zero)])
    func `a large object goes on in parts beside the request, and is renewed when it is asked for again`(
        settings: RenewalSettings
    ) async throws {
        let store = Self.store(size: 200 << 20)
        let client = try client(store, settings)
        #expect(await renew(client) == Self.stillCopying)
        await fake.settle()
        #expect(store.requests("copy_object").count == 1)
        let parts = store.requests("upload_part_copy")
        #expect(parts.count == 16)
        #expect(parts.allSatisfy { $0.fields["x-amz-copy-source-if-match"] == "\"e1\"" })
        #expect(store.requests("complete_multipart_upload").map { $0.fields["if-match"] } == ["\"e1\""])
        let count = store.operations.count
        #expect(await renew(client) == .renewed(expiration: nil))
        #expect(store.operations.count == count)
        // Told once; then it is as any other.
        #expect(await renew(client) == Self.stillCopying)
    }

    @Test func `a command waits for it`() async throws {
        let store = Self.store(size: 200 << 20)
        let renewal = await (try client(store)).renewWaiting(key: "a.bin", deadline: fake.deadline())
        #expect(renewal.outcome == .renewed(expiration: nil))
        #expect(store.requests("complete_multipart_upload").count == 1)
    }

    @Test func `a small object is tried again as often as the settings say`() async throws {
        for (attempts, copies) in [(1, 1), (2, 2), (3, 3)] {
            let store = Self.store(size: 1 << 20)
            #expect(
                await renew(try client(store, attempts: attempts)) == .unavailable(retryAfter: nil, code: "Timeout"))
            #expect(store.requests("copy_object").count == copies)
            #expect(store.requests("head_object").count == 1)
            let seen = Self.store(size: 1 << 20)
            #expect(
                await renew(try client(seen, Self.seen, attempts: attempts))
                    == .unavailable(retryAfter: nil, code: "Timeout"))
            #expect(seen.requests("copy_object").count == copies)
        }
        let isSlow = Mutex(true)
        let store = Self.store(size: 1 << 20) { request in
            guard request.operation == "copy_object" else { return nil }
            return isSlow.withLock { isSlow in
                defer { isSlow = false }
                return isSlow ? .failure(.timeout) : .success(.copied)
            }
        }
        guard case .renewed = await renew(try client(store)) else { return _ = Issue.record("not renewed") }
    }

    @Test func `a copy that was made and not heard of is found by its date`() async throws {
        let store = Self.store(size: 200 << 20) { request in
            request.operation == "head_object" ? .success(Self.head(200 << 20, age: "20 Nov")) : nil
        }
        #expect(await renew(try client(store)) == .recentlyWritten(expiration: nil))
        #expect(store.operations == ["copy_object", "head_object"])
    }

    @Test func `where HEAD says nothing, nothing is large`() async throws {
        let store = Self.store(size: 0) { request in
            request.operation == "head_object" ? .failure(.timeout) : nil
        }
        #expect(await renew(try client(store)) == .unavailable(retryAfter: nil, code: "Timeout"))
        #expect(store.operations == ["copy_object", "head_object", "copy_object", "copy_object"])
    }

    @Test func `what another has written meanwhile stays`() async throws {
        let store = Self.store(size: 200 << 20) { request in
            request.operation == "complete_multipart_upload" ? .success(.s3Error(412, "PreconditionFailed")) : nil
        }
        let client = try client(store)
        #expect(await renew(client) == Self.stillCopying)
        await fake.settle()
        #expect(await renew(client) == .unavailable(retryAfter: nil, code: "ChangedMeanwhile"))
        #expect(store.requests("abort_multipart_upload").count == 2)
    }

    @Test func `so many go on at once, and all are given up at the end`() async throws {
        let store = Self.store(size: 200 << 20) { request in
            // No answer until the request is cancelled.
            request.operation == "upload_part_copy" ? .some(nil) : nil
        }
        let client = try client(store)
        for number in 0..<4 { #expect(await renew(client, "\(number)") == Self.stillCopying) }
        #expect(await renew(client, "0") == Self.stillCopying)
        let tooMany = Renewal.Outcome.unavailable(retryAfter: .seconds(30), code: "TooManyLargeCopies")
        #expect(await renew(client, "4") == tooMany)
        try await until { store.requests("upload_part_copy").count >= 4 * 16 }
        await client.cancelBackgroundCopies()
        #expect(store.requests("abort_multipart_upload").count == 4)
        #expect(store.requests("complete_multipart_upload").isEmpty)
        #expect(await renew(client, "0") == tooMany)
    }
}
