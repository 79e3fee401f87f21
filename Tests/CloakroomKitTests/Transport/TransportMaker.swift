import CloakroomKit
import Testing

#if os(Linux)
    import CloakroomCurlTransport
#endif

/// The transports that do the same.
struct TransportMaker: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether it undoes content codings.
    let isDecoding: Bool
    private let makeOne: @Sendable (Int) -> any HTTPTransport

    func make(maximumConnectionsPerHost: Int = 16) -> any HTTPTransport { makeOne(maximumConnectionsPerHost) }

    static let urlSession = TransportMaker(testDescription: "URLSession", isDecoding: true) {
        URLSessionTransport(maximumConnectionsPerHost: $0)
    }

    #if os(Linux)
        static let curl = TransportMaker(testDescription: "libcurl", isDecoding: false) {
            CurlTransport(maximumConnectionsPerHost: $0)
        }
        static let all = [urlSession, curl]
    #else
        static let all = [urlSession]
    #endif
}
