import CloakroomCCurl
package import CloakroomHTTP
import CloakroomLibcurl
package import CloakroomLoop

/// libcurl's multi interface on the loop: any number of requests at once, one thread, connections kept.
///
/// Source: libcurl's manual, `curl_multi_socket_action(3)`.
@LoopActor
@safe package final class LoopCurlTransport: Transport {
    package struct Options: Sendable {
        /// Connections kept open when idle; below the usual concurrency each surplus request pays for a handshake.
        package var keptConnections = 1024
        /// Idle connections are closed, once older than this, when the next request is sent.
        package var maximumIdleAge: Duration = .seconds(20)
        /// Handles kept for the next requests; what more a peak has needed is freed when none has for ``freeing``.
        package var keptHandles = 64
        package var freeing: Duration = .seconds(10)
        package var connectTimeout: Duration = .seconds(3)
        /// Responses of STS and S3 to our requests are a few kilobytes.
        package var maximumResponseBytes = 1 << 20
        /// A PEM file to trust instead of the system's; `nil` for the system's.
        package var certificateAuthorities: String?
        /// Whether ``LoopCurlTransport/certificateEnd`` is told.
        package var readsCertificates = false
        /// Open to one host at once; requests beyond wait for one that ends. `nil` for as many as there are requests.
        package var maximumConnections: Int?
        package var version = HTTPVersion.http1

        package init() {}
    }

    private let multi: CurlMulti
    private let options: Options
    private let suppressedFields = SuppressedHeaderFields()
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The last one used is the next one used, so that those beyond what is needed stay at the beginning.
    private var idle: [CurlTransfer] = []
    /// The fewest that were idle since ``freeUnused()`` looked last.
    private var leastIdle = 0
    private var willFreeUnused = false
    private var timer: CurlTimer?
    /// By their numbers.
    private var sockets: [CurlSocket?] = []
    private var isActionScheduled = false
    /// When the certificate of the server that responded last ends, in OpenSSL's words: `May  1 00:00:00 2027 GMT`.
    package private(set) var certificateEnd: String?

    package init(options: Options = Options()) {
        multi = CurlMulti(keptConnections: options.keptConnections, multiplexes: options.version == .http2)
        if let most = options.maximumConnections { multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, most) }
        self.options = options
        timer = CurlTimer { [weak self] in self?.act(CURL_SOCKET_TIMEOUT, 0) }
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe multi.check(cloakroom_multi_pointer(multi.pointer, CURLMOPT_SOCKETDATA, me))
        unsafe multi.check(cloakroom_multi_pointer(multi.pointer, CURLMOPT_TIMERDATA, me))
        unsafe multi.check(cloakroom_multi_timer_callback(multi.pointer, setCurlTimer))
        unsafe multi.check(cloakroom_multi_socket_callback(multi.pointer, setCurlInterest))
    }

    isolated deinit {
        timer?.stop()
        for transfer in transfers.values { transfer.free() }
        multi.cleanUp()
    }

    // MARK: Transport

    /// Without a task of the caller's: a load test's requests are too many for one each.
    ///
    /// - Parameter completion: runs once, later.
    package func send(
        _ request: UpstreamRequest, timeout: Duration,
        then completion: @escaping @LoopActor (Result<UpstreamResponse, TransportError>) -> Void
    ) {
        let transfer = takeTransfer()
        guard transfer.prepare(request, timeout: timeout) else {
            giveBack(transfer)
            return EventPoller.shared.atTurnEnd { completion(.failure(.invalidRequest)) }
        }
        transfer.completion = completion
        multi.add(transfer.easy)
    }

    @LoopActor package func send(
        _ request: consuming UpstreamRequest, timeout: Duration
    ) async throws(TransportError) -> UpstreamResponse {
        let transfer = takeTransfer()
        guard transfer.prepare(request, timeout: timeout) else {
            giveBack(transfer)
            throw .invalidRequest
        }
        _ = consume request
        let number = transfer.requestNumber
        let result = await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                unsafe transfer.continuation = continuation
                multi.add(transfer.easy)
            }
        } onCancel: {
            LoopActor.spawn { self.cancel(transfer, number) }
        }
        return try result.get()
    }

    private func takeTransfer() -> CurlTransfer {
        if let transfer = idle.popLast() {
            leastIdle = min(leastIdle, idle.count)
            return transfer
        }
        let transfer = unsafe CurlTransfer(
            options: options, suppressedFields: suppressedFields, transport: Unmanaged.passUnretained(self).toOpaque())
        transfers[ObjectIdentifier(transfer)] = transfer
        return transfer
    }

    private func giveBack(_ transfer: CurlTransfer) {
        idle.append(transfer)
        if idle.count > options.keptHandles { scheduleFreeing() }
    }

    private func scheduleFreeing() {
        guard !willFreeUnused else { return }
        willFreeUnused = true
        EventPoller.shared.schedule(after: options.freeing) { [weak self] in
            self?.willFreeUnused = false
            self?.freeUnused()
        }
    }

    /// Frees handles that no request has needed for a while: each takes ten kilobytes.
    private func freeUnused() {
        let unused = max(0, min(leastIdle, idle.count - options.keptHandles))
        for transfer in idle.prefix(unused) {
            transfer.free()
            transfers[ObjectIdentifier(transfer)] = nil
        }
        idle.removeFirst(unused)
        leastIdle = idle.count
        if idle.count > options.keptHandles { scheduleFreeing() }
    }

    /// Those of this moment, those that wait for their response among them.
    package var handleCount: Int { transfers.count }

    private func cancel(_ transfer: CurlTransfer, _ number: Int) {
        // Its response may have come meanwhile, and the handle may be another request's.
        guard transfer.isRunning, transfer.requestNumber == number else { return }
        finish(transfer, .failure(.cancelled))
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<UpstreamResponse, TransportError>) {
        multi.remove(transfer.easy)
        let continuation = unsafe transfer.continuation.take()
        let completion = transfer.completion.take()
        transfer.reset()
        giveBack(transfer)
        unsafe continuation?.resume(returning: result)
        completion?(result)
    }

    // MARK: What libcurl asks for

    fileprivate nonisolated static func at(_ pointer: UnsafeMutableRawPointer?) -> LoopCurlTransport {
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
        LoopActor.assumeIsolated {
            let interest = CurlSocket.Interest(curl: what)
            let index = Int(socket)
            if index < sockets.count, let existing = sockets[index] {
                existing.want(interest)
            } else if what != CURL_POLL_REMOVE {
                while sockets.count <= index { sockets.append(nil) }
                sockets[index] = CurlSocket(socket, interest) { [weak self] events in self?.act(socket, events) }
            }
        }
    }

    /// libcurl is about to close the socket, or has just opened one of this number.
    fileprivate nonisolated func forget(_ socket: Int32) {
        LoopActor.assumeIsolated {
            let index = Int(socket)
            // -1 when no socket could be opened.
            guard sockets.indices.contains(index), let existing = sockets[index].take() else { return }
            existing.unwatch()
        }
    }

    private func act(_ socket: Int32, _ events: Int32) {
        var stillRunning: Int32 = 0
        unsafe curl_multi_socket_action(multi.pointer, socket, events, &stillRunning)
        while let (easy, code) = unsafe multi.nextEnded() {
            let transfer = unsafe CurlTransfer.of(easy)
            if options.readsCertificates { certificateEnd = transfer.certificateEnd ?? certificateEnd }
            finish(transfer, transfer.result(code))
        }
    }
}

/// Which version of HTTP a transport speaks; over TLS the server may settle for HTTP/1.1.
package enum HTTPVersion: String, Sendable, CaseIterable {
    case http1 = "1.1"
    case http2 = "2"
}

// libcurl's callbacks; closures of the loop's own code would be checked for their thread each time they run.

private func setCurlTimer(
    _: UnsafeMutableRawPointer?, _ milliseconds: Int, _ transport: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe LoopCurlTransport.at(transport).setTimer(milliseconds)
    return 0
}

private func setCurlInterest(
    _: UnsafeMutableRawPointer?, _ socket: Int32, _ what: Int32, _ transport: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe LoopCurlTransport.at(transport).setInterest(socket, what)
    return 0
}

func openCurlSocket(
    _ transport: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    let socket = unsafe cloakroom_open_socket(address)
    // A socket that never got connected libcurl closes without a word; this may have its number.
    unsafe LoopCurlTransport.at(transport).forget(socket)
    return socket
}

func closeCurlSocket(_ transport: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    unsafe LoopCurlTransport.at(transport).forget(socket)
    return cloakroom_close_socket(socket)
}
