import CloakroomCCurl
package import CloakroomHTTP
package import CloakroomLoop

/// libcurl's multi interface on the loop: any number of requests at once, one thread, connections kept.
///
/// Source: libcurl's manual, `curl_multi_socket_action(3)`.
@LoopActor
@safe package final class LoopCurlTransport: Transport {
    package struct Options: Sendable {
        /// Connections kept open when idle; below the usual concurrency each surplus request pays for a handshake.
        package var keptConnections = 1024
        package var connectTimeout: Duration = .seconds(3)
        /// Responses of STS and S3 to our requests are a few kilobytes.
        package var maximumResponseBytes = 1 << 20
        /// A PEM file to trust instead of the system's; `nil` for the system's.
        package var certificateAuthorities: String?
        /// Whether ``LoopCurlTransport/certificateEnd`` is told.
        package var readsCertificates = false

        package init() {}
    }

    private let multi: OpaquePointer
    private let options: Options
    private let suppressedFields = SuppressedHeaderFields()
    private var transfers: [CurlTransfer] = []
    private var idle: [CurlTransfer] = []
    private var timer: CurlTimer?
    /// By their numbers.
    private var sockets: [CurlSocket?] = []
    private var isActionScheduled = false
    /// When the certificate of the server that responded last ends, in OpenSSL's words: `May  1 00:00:00 2027 GMT`.
    package private(set) var certificateEnd: String?

    package init(options: Options = Options()) {
        precondition(curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK, "curl_global_init")
        guard let multi = unsafe curl_multi_init() else { preconditionFailure("curl_multi_init") }
        unsafe self.multi = OpaquePointer(multi)
        self.options = options
        timer = CurlTimer { [weak self] in self?.act(CURL_SOCKET_TIMEOUT, 0) }
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe set(cloakroom_multi_long(multi, CURLMOPT_MAXCONNECTS, options.keptConnections))
        unsafe set(cloakroom_multi_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)))
        unsafe set(cloakroom_multi_pointer(multi, CURLMOPT_SOCKETDATA, me))
        unsafe set(cloakroom_multi_pointer(multi, CURLMOPT_TIMERDATA, me))
        unsafe set(cloakroom_multi_timer_callback(multi, setCurlTimer))
        unsafe set(cloakroom_multi_socket_callback(multi, setCurlInterest))
    }

    isolated deinit {
        timer?.stop()
        for transfer in transfers { transfer.free() }
        unsafe curl_multi_cleanup(UnsafeMutableRawPointer(multi))
    }

    // MARK: Transport

    @LoopActor package func send(
        _ request: consuming UpstreamRequest, timeout: Duration
    ) async throws(TransportError) -> UpstreamResponse {
        let transfer = idle.popLast() ?? newTransfer()
        guard transfer.prepare(request, timeout: timeout) else {
            idle.append(transfer)
            throw .invalidRequest
        }
        _ = consume request
        let number = transfer.requestNumber
        let result = await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                unsafe transfer.continuation = continuation
                start(transfer)
            }
        } onCancel: {
            LoopActor.spawn { self.cancel(transfer, number) }
        }
        return try result.get()
    }

    private func newTransfer() -> CurlTransfer {
        let transfer = unsafe CurlTransfer(
            options: options, suppressedFields: suppressedFields, transport: Unmanaged.passUnretained(self).toOpaque())
        transfers.append(transfer)
        return transfer
    }

    private func start(_ transfer: CurlTransfer) {
        let added = unsafe curl_multi_add_handle(
            UnsafeMutableRawPointer(multi), UnsafeMutableRawPointer(transfer.handle))
        precondition(added == CURLM_OK, "curl_multi_add_handle")
    }

    private func cancel(_ transfer: CurlTransfer, _ number: Int) {
        // Its response may have come meanwhile, and the handle may be another request's.
        guard transfer.isRunning, transfer.requestNumber == number else { return }
        finish(transfer, .failure(.cancelled))
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<UpstreamResponse, TransportError>) {
        unsafe curl_multi_remove_handle(UnsafeMutableRawPointer(multi), UnsafeMutableRawPointer(transfer.handle))
        let continuation = unsafe transfer.continuation.take()
        transfer.reset()
        idle.append(transfer)
        unsafe continuation?.resume(returning: result)
    }

    // MARK: What libcurl asks for

    fileprivate nonisolated static func at(_ pointer: UnsafeMutableRawPointer?) -> LoopCurlTransport {
        guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
        return unsafe Unmanaged<LoopCurlTransport>.fromOpaque(pointer).takeUnretainedValue()
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
        unsafe curl_multi_socket_action(UnsafeMutableRawPointer(multi), socket, events, &stillRunning)
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(UnsafeMutableRawPointer(multi), &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let easy = unsafe message.pointee.easy_handle else {
                continue
            }
            let code = unsafe message.pointee.data.result
            let transfer = unsafe CurlTransfer.of(easy)
            if options.readsCertificates { certificateEnd = transfer.certificateEnd ?? certificateEnd }
            finish(transfer, transfer.result(code))
        }
    }

    private func set(_ code: CURLMcode) { precondition(code == CURLM_OK, "curl_multi_setopt \(code.rawValue)") }
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
