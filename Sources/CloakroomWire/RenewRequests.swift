package import CloakroomJSON

/// Why a renewal's body is refused; the raw value is the response's sentence, exactly as clients know it.
package enum RenewRequestError: String, Error, Sendable, CaseIterable {
    case noKeys = "assetKeys must be a non-empty array"
    case tooManyKeys = "Maximum 100 keys per request"
    case invalidBody = "Invalid request body"
}

/// What ``Route/renewBatch`` takes.
package struct RenewBatchRequest: WireEncodable {
    /// 1 to 100, as they came: duplicates stay, and what is no key is the renewal's affair.
    package let assetKeys: [String]

    package init(parsing body: [UInt8]) throws(RenewRequestError) {
        let request = try renewalObject(parsing: body)
        guard let keys = request["assetKeys"]?.array, !keys.isEmpty else { throw .noKeys }
        guard keys.count <= WireLimits.maximumKeysPerRequest else { throw .tooManyKeys }
        guard let keys = request["assetKeys"]?.strings else { throw .invalidBody }
        assetKeys = keys
    }

    package init(assetKeys: [String]) { self.assetKeys = assetKeys }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("assetKeys")
        writer.beginArray()
        for key in assetKeys { writer.string(key) }
        writer.endArray()
        writer.endObject()
    }
}

/// What ``Route/renewOne`` takes.
package struct RenewOneRequest: WireEncodable {
    package let assetKey: String

    package init(parsing body: [UInt8]) throws(RenewRequestError) {
        guard let key = try renewalObject(parsing: body)["assetKey"]?.string else { throw .invalidBody }
        assetKey = key
    }

    package init(assetKey: String) { self.assetKey = assetKey }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("assetKey", assetKey)
        writer.endObject()
    }
}

/// The JSON of a renewal's body: also the test of whether it is JSON at all.
package func renewalJSON(parsing body: [UInt8]) throws(RenewRequestError) -> JSON {
    guard let json = try? JSON(parsing: body, maximumDepth: 16) else { throw .invalidBody }
    return json
}

private func renewalObject(parsing body: [UInt8]) throws(RenewRequestError) -> JSON.Object {
    guard let object = try renewalJSON(parsing: body).object else { throw .invalidBody }
    return object
}
