extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// Such as `PUT https://bucket.s3.eu-central-1.amazonaws.com/k, 120 bytes`: the values of fields and the query may
    /// be secrets, so the description leaves them out.
    public var description: String {
        "\(method) \(location)" + (body.byteCount > 0 ? ", \(body.byteCount) bytes" : "")
    }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "method": method, "url": location, "fields": fields.map(\.name), "byteCount": body.byteCount,
                "timeout": timeout, "idleTimeout": idleTimeout,
            ])
    }

    private var location: String { String(url.absoluteString.prefix { $0 != "?" && $0 != "#" }) }
}
