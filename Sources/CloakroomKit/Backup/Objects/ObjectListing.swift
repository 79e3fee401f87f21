import CloakroomAWS
package import Foundation

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
                let next = try await client.page(prefix: prefix, from: position, &progress)
                (page, index, self.position) = (next.objects, 0, next.position)
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
    ) async throws -> Page {
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
            return Page(objects: objects, position: page.continuation.map { .continuation($0) }, date: page.date)
        }
    }

    /// All objects under a prefix, and when the listing was made by the store's clock, where it says that.
    ///
    /// - Throws: ``CloakroomError`` when it is not complete, or has more than `maximumCount` objects.
    package func listing(prefix: String, maximumCount: Int) async throws -> (objects: [ObjectInfo], date: Date?) {
        var progress = ListingProgress()
        var page = try await page(prefix: prefix, from: .start, &progress)
        // Of the first page: what is written while the others come is newer.
        let date = page.date
        var objects = page.objects
        while let position = page.position {
            page = try await self.page(prefix: prefix, from: position, &progress)
            objects += page.objects
            guard objects.count <= maximumCount else {
                throw CloakroomError(.invalidResponse, "listing \(prefix): more than \(maximumCount) objects")
            }
        }
        return (objects, date)
    }

    struct Page {
        let objects: [ObjectInfo]
        /// Of the next one; `nil` at the end.
        let position: S3Client.ListPosition?
        let date: Date?
    }
}
