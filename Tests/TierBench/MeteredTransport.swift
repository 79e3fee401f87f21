import CloakroomKit
import Foundation

/// Counts the requests that go through it.
final class MeteredTransport: HTTPTransport {
    struct Counts: Sendable {
        /// All that were sent, to the worker too.
        var requests = 0
        /// Of reads of photos, also of parts of them.
        var photoGets = 0
        /// Of listings, of any folder.
        var listings = 0
        /// Of documents that the user's devices share.
        var documentGets = 0
        var documentPutBytes: Int64 = 0
    }

    private let inner: any HTTPTransport
    private let endpoint: URL
    private let counts = Locked(Counts())

    init(_ inner: any HTTPTransport, bucketHost: URL) {
        self.inner = inner
        endpoint = bucketHost
    }

    var now: Counts { counts.withLock { $0 } }

    func reset() { counts.withLock { $0 = Counts() } }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        let isOfS3 = request.url.host == endpoint.host && request.url.port == endpoint.port
        let path = request.url.path
        counts.withLock { counts in
            counts.requests += 1
            guard isOfS3 else { return }
            switch request.method {
            case "GET" where request.url.query?.contains("list-type=2") == true: counts.listings += 1
            case "GET" where path.contains("/photos/"): counts.photoGets += 1
            case "GET" where path.contains("/catalogs/"): counts.documentGets += 1
            case "PUT" where path.contains("/catalogs/"): counts.documentPutBytes += request.body.byteCount
            default: break
            }
        }
        return try await inner.send(request, progress: progress)
    }
}

/// A value that one thread at a time reads or changes.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // The lock is held wherever the value is used.
    private var value: Value
    private let lock = NSLock()

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
