import CloakroomCCurl
import CloakroomHTTP
import CloakroomLibcurl
import CloakroomLoop

/// Some of a transport's requests, with a multi handle and connections of their own.
///
/// To find an idle connection libcurl goes through all that its handle has to the host, for each request, and once more to
/// find the oldest when there are more than it may keep: `ConnectionExists` in its lib/url.c, `Curl_conncache_extract_oldest`
/// in lib/conncache.c. Among ten thousand that is half of a request's time. How many a group has is bounded.
@LoopActor
@safe final class CurlGroup {
    typealias Ending = @LoopActor (CurlTransfer, Result<UpstreamResponse, TransportError>) -> Void

    private let multi: CurlMulti
    private let sockets: CurlSockets
    private let ended: Ending
    private var timer: CurlTimer?
    private var isActionScheduled = false
    private var wasUsedSinceAsked = true

    /// How many requests it has at this moment.
    private(set) var running = 0

    /// - Parameters:
    ///   - keptConnections: open when idle, at most, to all hosts together.
    ///   - maximumConnections: open to one host at once.
    ///   - ended: called with each request that has ended by itself, which is still to be removed.
    init(
        keptConnections: Int, maximumConnections: Int?, version: HTTPVersion, sockets: CurlSockets,
        ended: @escaping Ending
    ) {
        multi = CurlMulti(keptConnections: keptConnections, multiplexes: version == .http2)
        if let maximumConnections { multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, maximumConnections) }
        self.sockets = sockets
        self.ended = ended
        timer = CurlTimer { [weak self] in self?.act(CURL_SOCKET_TIMEOUT, 0) }
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe multi.check(cloakroom_multi_pointer(multi.pointer, CURLMOPT_SOCKETDATA, me))
        unsafe multi.check(cloakroom_multi_pointer(multi.pointer, CURLMOPT_TIMERDATA, me))
        unsafe multi.check(cloakroom_multi_timer_callback(multi.pointer, setCurlTimer))
        unsafe multi.check(cloakroom_multi_socket_callback(multi.pointer, setCurlInterest))
    }

    /// Closes its connections. No request may be left in it, and the object is of no use afterwards.
    func cleanUp() {
        timer?.stop()
        timer = nil
        multi.cleanUp()
    }

    func add(_ easy: CurlEasyHandle) {
        running += 1
        wasUsedSinceAsked = true
        multi.add(easy)
    }

    func remove(_ easy: CurlEasyHandle) {
        running -= 1
        multi.remove(easy)
    }

    /// Whether it has, or had since this was asked before, a request.
    func wasUsed() -> Bool {
        defer { wasUsedSinceAsked = running > 0 }
        return wasUsedSinceAsked
    }

    // MARK: What libcurl asks for

    fileprivate nonisolated static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlGroup {
        unsafe curlContext(pointer)
    }

    fileprivate nonisolated func setTimer(_ milliseconds: Int) {
        LoopActor.assumeIsolated {
            timer?.set(milliseconds > 0 ? milliseconds : nil)
            if milliseconds == 0 { scheduleAction() }
        }
    }

    /// All transfers added in one turn start together.
    private func scheduleAction() {
        guard !isActionScheduled else { return }
        isActionScheduled = true
        EventPoller.shared.atTurnEnd { [weak self] in
            self?.isActionScheduled = false
            self?.act(CURL_SOCKET_TIMEOUT, 0)
        }
    }

    fileprivate nonisolated func setInterest(_ socket: Int32, _ what: Int32) {
        LoopActor.assumeIsolated { sockets.setInterest(socket, what, of: self) }
    }

    /// - Parameters:
    ///   - socket: which one is ready, or `CURL_SOCKET_TIMEOUT`.
    ///   - events: what for, as libcurl counts them.
    func act(_ socket: Int32, _ events: Int32) {
        // Without its timer it has been cleaned up.
        guard timer != nil else { return }
        var stillRunning: Int32 = 0
        unsafe curl_multi_socket_action(multi.pointer, socket, events, &stillRunning)
        // What a request's end leads to may be the end of the transport.
        while timer != nil, let (easy, code) = unsafe multi.nextEnded() {
            let transfer = unsafe CurlTransfer.of(easy)
            ended(transfer, transfer.result(code))
        }
    }
}

// libcurl's callbacks; closures of the loop's own code would be checked for their thread each time they run.

private func setCurlTimer(
    _: UnsafeMutableRawPointer?, _ milliseconds: Int, _ group: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe CurlGroup.at(group).setTimer(milliseconds)
    return 0
}

private func setCurlInterest(
    _: UnsafeMutableRawPointer?, _ socket: Int32, _ what: Int32, _ group: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe CurlGroup.at(group).setInterest(socket, what)
    return 0
}
