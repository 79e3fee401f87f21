import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension URLRequest {
    /// Everything but the body.
    ///
    /// - Throws: ``HTTPTransportError/invalidRequest``.
    init(_ request: HTTPRequest) throws(HTTPTransportError) {
        let fields = try request.fieldsToSend()
        self.init(url: request.url)
        httpMethod = request.method
        cachePolicy = .reloadIgnoringLocalCacheData
        httpShouldHandleCookies = false
        // Time is kept by the exchange itself; this is behind it. On Linux fractions of a second are cut off.
        timeoutInterval = min(86_400, (request.timeout + request.idleTimeout) / .seconds(1) + 60).rounded(.up)
        // Checksums are of the bytes as they are stored.
        setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        for (name, value) in fields { setValue(value, forHTTPHeaderField: name) }
    }
}
