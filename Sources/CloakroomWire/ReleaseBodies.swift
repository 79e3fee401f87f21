package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why one image was not released.
package enum ReleaseErrorCode: String, Sendable, Codable, CaseIterable {
    /// The token is not this key's, or another user's, or the key is no image of a chat: it will never be released so.
    case forbidden
    /// The store fails or throttles: send it again.
    case unavailable
    /// The operator has to fix something: send it again, later.
    case internalError = "internal_error"
}

/// What became of one image.
package struct ReleaseResult: WireBody, Codable {
    /// As in the request, byte for byte.
    package var key: String
    /// Also for an object that is not there: it was released before, has expired, or was never uploaded.
    package var success: Bool
    /// `nil` on success.
    package var error: ReleaseErrorCode?
    /// By when its bytes are gone; `nil` when they are gone already, and without success.
    package var bytesGoneBy: Date?

    package init(key: String, bytesGoneBy: Date?) {
        self.key = key
        self.success = true
        self.bytesGoneBy = bytesGoneBy
    }

    package init(key: String, failure: ReleaseErrorCode) {
        self.key = key
        self.success = false
        self.error = failure
    }

    /// A word that this version does not know says as little as ``ReleaseErrorCode/internalError``.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        key = try container.decode(String.self, forKey: .key)
        success = try container.decode(Bool.self, forKey: .success)
        error = try container.decodeIfPresent(String.self, forKey: .error).map {
            ReleaseErrorCode(rawValue: $0) ?? .internalError
        }
        bytesGoneBy = try container.decodeIfPresent(Date.self, forKey: .bytesGoneBy)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.plainName("success")
        writer.bool(success)
        if let error { writer.member("error", error.rawValue) }
        if let bytesGoneBy { writer.member("bytesGoneBy", bytesGoneBy) }
        writer.endObject()
    }
}

/// The response of ``Route/releaseBatch``.
package struct ReleaseBatchBody: WireBody, Codable {
    package var released: Int
    package var failed: Int
    /// One for each image of the request, in its order.
    package var results: [ReleaseResult]

    package init(results: [ReleaseResult]) {
        released = results.count { $0.success }
        failed = results.count - released
        self.results = results
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("released")
        writer.integer(released)
        writer.plainName("failed")
        writer.integer(failed)
        writer.plainName("results")
        writer.beginArray()
        for result in results { result.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}
