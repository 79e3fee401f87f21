package import CloakroomHTTP

/// Reads the responses of one connection, one after the other, as their bytes arrive.
package protocol ResponseReading: AnyObject {
    /// Before each response.
    func reset()

    /// - Parameter bytes: those that came since the last call; not empty.
    func read(_ bytes: Span<UInt8>) -> ResponseProgress

    /// The server has closed its end.
    ///
    /// - Returns: anything but ``ResponseProgress/incomplete``.
    func end() -> ResponseProgress
}

/// What has come of a response.
package enum ResponseProgress: Sendable, Equatable {
    case incomplete
    /// A whole response.
    ///
    /// - Parameter keepsConnection: whether its connection can take another request.
    case complete(UpstreamResponse, keepsConnection: Bool)
    /// There will be none; its connection is of no more use.
    case failed(ExchangeError)
}
