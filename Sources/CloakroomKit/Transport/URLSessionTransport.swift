package import CloakroomAWS
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// HTTP over URLSession: no cache, no cookies, no stored passwords, no redirects; a 3xx is a response.
///
/// It reuses connections; make one for an app and pass it to everything. Responses are requested
/// without content coding; a successful one that comes in one nevertheless is ``HTTPTransportError/encoded``. Fields of one
/// name go out as one, joined by a comma, as Signature Version 4 signs them.
///
/// Bodies from files go out, and bodies to files are written, in chunks as the network sends and receives them: a few
/// hundred kilobytes of memory each, whatever their size. On Apple's systems a part of a file of up to 8 MiB is read whole.
///
/// On Linux, swift-corelibs-foundation keeps polling whether a socket can be written to until its exchange has ended, so
/// waiting for a response uses CPU time there, up to all of one core. The package's product `CloakroomCurlTransport` has a
/// transport that does not.
///
/// Exchanges beyond the connections to a host wait for one, and that waiting counts as time in which nothing moves.
public final class URLSessionTransport: HTTPTransport {
    /// Which networks may be used; on Linux there is no difference.
    public let networkAccess: NetworkAccess
    private let session: URLSession
    private let delegate: URLSessionExchangeDelegate
    private let runtime: RuntimeDependencies

    /// - Parameters:
    ///   - maximumConnectionsPerHost: how many connections there are at most to one host at a time.
    ///   - networkAccess: which networks may be used; on Linux there is no difference.
    public convenience init(maximumConnectionsPerHost: Int = 16, networkAccess: NetworkAccess = .unrestricted) {
        self.init(
            maximumConnectionsPerHost: maximumConnectionsPerHost, networkAccess: networkAccess,
            runtime: RuntimeDependencies())
    }

    package init(
        maximumConnectionsPerHost: Int = 16, networkAccess: NetworkAccess = .unrestricted, runtime: RuntimeDependencies
    ) {
        self.networkAccess = networkAccess
        self.runtime = runtime
        delegate = URLSessionExchangeDelegate()
        session = URLSession(
            configuration: .bare(maximumConnectionsPerHost: maximumConnectionsPerHost, networkAccess: networkAccess),
            delegate: delegate, delegateQueue: URLSessionExchangeDelegate.makeQueue())
    }

    // The session holds its delegate, and its connections, until it is invalidated.
    deinit { session.finishTasksAndInvalidate() }

    public func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        let exchange = try URLSessionExchange(request, now: runtime.now, progress: progress)
        let watch = runtime.spawn { [runtime] in await exchange.enforceTimeouts(runtime) }
        defer { watch.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { exchange.start(on: session, delegate, waiter: $0) }
        } onCancel: {
            exchange.end(.failure(.cancelled))
        }
        return try result.get()
    }
}

extension URLSessionConfiguration {
    fileprivate static func bare(maximumConnectionsPerHost: Int, networkAccess: NetworkAccess)
        -> URLSessionConfiguration
    {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = max(1, maximumConnectionsPerHost)
        #if !canImport(FoundationNetworking)
            configuration.waitsForConnectivity = false
            configuration.allowsExpensiveNetworkAccess = networkAccess.allowsExpensive
            configuration.allowsConstrainedNetworkAccess = networkAccess.allowsConstrained
        #endif
        return configuration
    }
}
