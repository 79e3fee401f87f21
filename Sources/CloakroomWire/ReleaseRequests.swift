package import CloakroomJSON

/// Why a release's body is refused; the raw value is the response's sentence.
package enum ReleaseRequestError: String, Error, Sendable, CaseIterable {
    case noImages = "images must be a non-empty array"
    case tooManyImages = "Maximum 100 images per request"
    case invalidBody = "Invalid request body"
}

/// An image of a chat, with what its upload was given to release it.
package struct ReleaseItem: Sendable, Equatable {
    package let key: String
    package let releaseToken: String

    package init(key: String, releaseToken: String) {
        self.key = key
        self.releaseToken = releaseToken
    }
}

/// What ``Route/releaseBatch`` takes.
package struct ReleaseBatchRequest: WireEncodable {
    /// 1 to 100, as they came: duplicates stay, and what is no key is the release's affair.
    package let images: [ReleaseItem]

    package init(parsing body: [UInt8]) throws(ReleaseRequestError) {
        guard let object = (try? JSON(parsing: body, maximumDepth: 16))?.object else { throw .invalidBody }
        guard let elements = object["images"]?.array, !elements.isEmpty else { throw .noImages }
        guard elements.count <= WireLimits.maximumKeysPerRequest else { throw .tooManyImages }
        var images: [ReleaseItem] = []
        images.reserveCapacity(elements.count)
        for element in elements {
            guard let image = element.object, let key = image["key"]?.string,
                let token = image["releaseToken"]?.string
            else { throw .invalidBody }
            images.append(ReleaseItem(key: key, releaseToken: token))
        }
        self.images = images
    }

    package init(images: [ReleaseItem]) { self.images = images }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("images")
        writer.beginArray()
        for image in images {
            writer.beginObject()
            writer.member("key", image.key)
            writer.member("releaseToken", image.releaseToken)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension ReleaseItem: CustomStringConvertible, CustomReflectable {
    package var description: String { "release of \(key)" }
    package var customMirror: Mirror { Mirror(self, children: ["key": key]) }
}
