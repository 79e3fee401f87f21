import CloakroomAWS

/// Objects whose keys begin with a prefix, in S3's order, requested in pages of at most 1,000.
///
/// Each iteration sends new requests. It throws ``CloakroomError``; earlier elements stay valid.
public struct ObjectListing: AsyncSequence, Sendable {
    public typealias Element = ObjectInfo

    let client: S3BackupClient
    let prefix: String

    public func makeAsyncIterator() -> Iterator { Iterator(client: client, prefix: prefix) }

    public struct Iterator: AsyncIteratorProtocol {
        let client: S3BackupClient
        let prefix: String
        private var page: [ObjectInfo] = []
        private var index = 0
        private var position: S3Client.ListPosition? = .start
        private var progress = ListingProgress()

        init(client: S3BackupClient, prefix: String) {
            self.client = client
            self.prefix = prefix
        }

        public mutating func next() async throws -> ObjectInfo? {
            while index == page.count {
                guard let position else { return nil }
                let (objects, next) = try await client.page(prefix: prefix, from: position, &progress)
                (page, index, self.position) = (objects, 0, next)
            }
            index += 1
            return page[index - 1]
        }
    }
}

extension S3BackupClient {
    /// The user's objects under a prefix, such as ``PhotoLayout/photos``.
    ///
    /// - Parameter prefix: one that the credentials allow to be listed.
    public nonisolated func list(prefix: String) -> ObjectListing { ObjectListing(client: self, prefix: prefix) }

    func page(
        prefix: String, from position: S3Client.ListPosition, _ progress: inout ListingProgress
    ) async throws -> (objects: [ObjectInfo], next: S3Client.ListPosition?) {
        try await mappingErrors("listing \(prefix)") {
            let page = try await bucket().s3.list(prefix: prefix, from: position, deadline: operationDeadline)
            // Never in circles.
            guard progress.advances(page) else { throw AWSError(.transient, status: 200, code: "RepeatedPage") }
            let objects = page.entries.map {
                ObjectInfo(
                    key: $0.key, byteCount: $0.size.map { Int64($0) } ?? -1, entityTag: $0.entityTag,
                    lastModified: $0.lastModified,
                    isArchived: $0.isArchived)
            }
            return (objects, page.continuation.map { .continuation($0) })
        }
    }
}
