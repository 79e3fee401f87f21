public import Foundation

/// A request that came, without anything secret.
public struct TestRequest: Sendable, Equatable {
    public let operation: TestOperation
    public let method: String
    /// Of the worker: with `{id}` in place of an identifier; else the path.
    public let route: String
    /// Of the object that it is about; of a listing, the prefix.
    public let key: String?
    /// Of its body.
    public let byteCount: Int
    /// Of the response; `nil` when there was none.
    public let status: Int?
    /// By the server's clock.
    public let date: Date
}

/// An object in the bucket.
public struct TestObject: Sendable, Equatable {
    public var bytes: Data
    /// With its quotation marks.
    public var entityTag: String
    public var lastModified: Date
    /// What is kept with it, by names in lower case: `content-type`, `x-amz-meta-…`.
    public var fields: [String: String]
}

extension TestServer {
    /// What is in the bucket now, by key.
    public func objects(withPrefix prefix: String = "") -> [String: TestObject] {
        state.withLock { state in
            state.expireAssets()
            return state.objects.filter { $0.key.hasPrefix(prefix) }
        }
    }

    /// Puts an object into the bucket, as another device could have; the entity tag is the MD5 of its bytes.
    public func store(_ bytes: Data, at key: String, fields: [String: String] = [:]) {
        state.withLock { $0.store(bytes, at: key, fields: fields) }
    }

    /// Deletes an object, as another device could have.
    public func delete(_ key: String) { state.withLock { $0.objects[key] = nil } }

    /// What came, in its order.
    ///
    /// - Parameter operation: `nil` for all.
    public func requests(_ operation: TestOperation? = nil) -> [TestRequest] {
        state.withLock { $0.requests }.filter { operation == nil || $0.operation == operation }
    }

    /// How many of these requests came.
    public func count(_ operation: TestOperation) -> Int { requests(operation).count }

    /// Forgets the requests so far; nothing else.
    public func forgetRequests() { state.withLock { $0.requests = [] } }
}
