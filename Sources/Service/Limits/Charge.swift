/// What a request counts: one in the window of its kind, and in the window of volume of that kind as much as it asks for.
package struct Charge: Sendable, Hashable {
    let name: LimitName
    /// Keys or bytes; 0 where the kind has no such window, or the request names none.
    let volume: Int

    private init(_ name: LimitName, volume: Int = 0) {
        self.name = name
        self.volume = max(0, volume)
    }

    package static let vend = Charge(.vend)
    package static let vendAll = Charge(.vendAll)
    package static let session = Charge(.session)
    package static let notification = Charge(.notification)

    package static func renewal(keys: Int) -> Charge { Charge(.renew, volume: keys) }

    /// - Parameter bytes: as many as may be uploaded by what is handed out; 0 where nothing was announced.
    package static func upload(bytes: Int) -> Charge { Charge(.upload, volume: bytes) }
}
