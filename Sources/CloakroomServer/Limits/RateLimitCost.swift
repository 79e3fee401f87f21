/// What a request counts: one in the window of its kind, and in the window of quantity of that kind what it requests.
package struct RateLimitCost: Sendable, Hashable {
    let name: RateLimitName
    /// Keys or bytes; 0 where the kind has no such window, or the request names none.
    let quantity: Int

    private init(_ name: RateLimitName, quantity: Int = 0) {
        self.name = name
        self.quantity = max(0, quantity)
    }

    package static let vend = RateLimitCost(.vend)
    package static let vendAll = RateLimitCost(.vendAll)
    package static let session = RateLimitCost(.session)
    package static let notification = RateLimitCost(.notification)

    package static func renewal(keys: Int) -> RateLimitCost { RateLimitCost(.renew, quantity: keys) }

    /// - Parameter bytes: as many as may be uploaded by what is handed out; 0 where nothing was announced.
    package static func upload(bytes: Int) -> RateLimitCost { RateLimitCost(.upload, quantity: bytes) }
}
