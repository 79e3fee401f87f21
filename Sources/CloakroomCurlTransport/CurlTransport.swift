public import CloakroomKit

/// HTTP over libcurl itself, for Linux.
///
/// It exists because of what waiting costs there: swift-corelibs-foundation's URLSession polls whether a socket can be
/// written to until the response has come, and so takes 0.3 to 0.8 s of CPU time for a second of waiting. This one
/// sleeps. On Apple's systems use ``CloakroomKit/URLSessionTransport``.
///
/// One thread of its own runs every task, keeps connections open and uses them again; make one for an app and hand it
/// to everything. Its release ends the thread and closes the connections. It speaks HTTP/1.1, with TLS 1.2 at least,
/// trusts whom libcurl trusts, follows no redirects, and knows neither proxies, cookies, passwords nor caches. Bodies are
/// handed out as they came, whatever their content coding, so they are the stored bytes. Fields of one name go out as
/// one, joined by a comma, as Signature Version 4 signs them.
///
/// Progress is reported on that thread: its handlers must return soon. Exchanges beyond the connections to a host wait for
/// one, and that waiting counts as time in which nothing moves.
///
/// Source: libcurl's manual, `libcurl-multi(3)`.
public final class CurlTransport: HTTPTransport {
    private let thread: CurlThread

    /// - Parameter maximumConnectionsPerHost: how many connections there are at most to one host at a time.
    public convenience init(maximumConnectionsPerHost: Int = 16) {
        self.init(maximumConnectionsPerHost: maximumConnectionsPerHost, certificateAuthorities: nil)
    }

    /// - Parameter certificateAuthorities: a file of those to trust, in PEM; `nil` for libcurl's own.
    package init(maximumConnectionsPerHost: Int = 16, certificateAuthorities: String?) {
        thread = CurlThread(
            maximumConnectionsPerHost: max(1, maximumConnectionsPerHost),
            certificateAuthorities: certificateAuthorities)
        thread.start()
    }

    // The thread holds itself; only the transport ends it.
    deinit { thread.stop() }

    public func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        let task = try CurlTask(request, progress: progress)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { thread.start(task, waiter: $0) }
        } onCancel: { [thread] in
            thread.cancel(task)
        }
        return try result.get()
    }
}
