package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why one key was not renewed.
package enum RenewalErrorCode: String, Sendable, Codable, CaseIterable {
    /// The object is gone. Clients delete their reference on this word: only S3's `NoSuchKey` may bring it.
    case notFound = "not_found"
    case invalidKey = "invalid_key"
    case archived
    /// The object cannot be renewed, or the user may not name its key.
    case forbidden
    case internalError = "internal_error"
}

/// What became of one key.
package struct RenewResult: WireBody, Codable {
    /// As in the request, byte for byte.
    package var key: String
    package var success: Bool
    /// `nil` on success.
    package var error: RenewalErrorCode?
    /// When the object would expire now; `nil` when unknown.
    package var expiresAt: Date?

    package init(key: String, renewedUntil expiresAt: Date?) {
        self.key = key
        self.success = true
        self.expiresAt = expiresAt
    }

    package init(key: String, failure: RenewalErrorCode) {
        self.key = key
        self.success = false
        self.error = failure
    }

    /// A word that this version does not know says as little as ``RenewalErrorCode/internalError``.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        key = try container.decode(String.self, forKey: .key)
        success = try container.decode(Bool.self, forKey: .success)
        error = try container.decodeIfPresent(String.self, forKey: .error).map {
            RenewalErrorCode(rawValue: $0) ?? .internalError
        }
        expiresAt = try container.decodeIfPresent(Date.self, forKey: .expiresAt)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.plainName("success")
        writer.bool(success)
        if let error { writer.member("error", error.rawValue) }
        if let expiresAt { writer.member("expiresAt", expiresAt) }
        writer.endObject()
    }
}

/// The response of ``Route/renewBatch``.
package struct RenewBatchBody: WireBody, Codable {
    package var renewed: Int
    package var failed: Int
    /// One for each key of the request, in its order.
    package var results: [RenewResult]

    package init(results: [RenewResult]) {
        renewed = results.count { $0.success }
        failed = results.count - renewed
        self.results = results
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("renewed")
        writer.integer(renewed)
        writer.plainName("failed")
        writer.integer(failed)
        writer.plainName("results")
        writer.beginArray()
        for result in results { result.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}
