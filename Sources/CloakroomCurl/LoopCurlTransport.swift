import CloakroomCCurl
package import CloakroomHTTP
import CloakroomLibcurl
package import CloakroomLoop

/// libcurl's multi interface on the loop: any number of requests at once, one thread, connections kept.
///
/// The requests are in groups of a bounded size, each with connections of its own: see ``CurlGroup``.
/// Source: libcurl's manual, `curl_multi_socket_action(3)`.
@LoopActor
@safe package final class LoopCurlTransport: Transport {
    package struct Options: Sendable {
        /// Connections that are kept open when idle, and no more than ``groupSize`` of each group; below the usual concurrency
        /// each surplus request pays for a handshake.
        package var keptConnections = 1024
        /// Requests at once in one group. A group more is made when all have as many.
        package var groupSize = 256
        /// Idle connections are closed, once older than this, when the next request is sent.
        package var maximumIdleAge: Duration = .seconds(20)
        /// Handles kept for the next requests; what more a peak has needed, and groups beyond the first, are freed when no
        /// request has needed them for ``freeing``. Each is some thirty objects, which keep as many pages of a heap that has
        /// been large.
        package var keptHandles = 8
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

    private static let freedAtOnce = 256

    private let options: Options
    private let groupSize: Int
    private let form: HeadForm
    /// Requests go to the first with room: those at the end become idle after a peak, with their connections.
    private var groups: [CurlGroup] = []
    private let sockets = CurlSockets()
    private let shared = CurlShare()
    private let suppressedFields = SuppressedHeaderFields()
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The last one used is the next one used, so that those beyond what is needed stay at the beginning.
    private var idle: [CurlTransfer] = []
    /// The fewest that were idle since ``freeUnused()`` looked last.
    private var leastIdle = 0
    private var willFreeUnused = false
    /// When the certificate of the server that responded last ends, in OpenSSL's words: `May  1 00:00:00 2027 GMT`.
    package private(set) var certificateEnd: String?

    package convenience init(options: Options = Options()) {
        self.init(options: options, form: options.version == .http1 ? SentHead.form : .lines)
    }

    init(options: Options, form: HeadForm) {
        self.options = options
        self.form = form
        // A limit of connections, and connections that several requests share, are of all requests.
        groupSize = options.maximumConnections == nil && options.version == .http1 ? options.groupSize : .max
    }

    isolated deinit {
        for transfer in transfers.values { transfer.free() }
        for group in groups { group.cleanUp() }
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
        start(transfer)
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
                start(transfer)
            }
        } onCancel: {
            LoopActor.spawn { self.cancel(transfer, number) }
        }
        return try result.get()
    }

    private func start(_ transfer: CurlTransfer) {
        let group = groups.first { $0.running < groupSize } ?? addGroup()
        transfer.group = group
        group.add(transfer.easy)
    }

    private func addGroup() -> CurlGroup {
        let group = CurlGroup(
            keptConnections: min(options.keptConnections, groupSize), maximumConnections: options.maximumConnections,
            version: options.version, sockets: sockets
        ) { [weak self] in self?.finish($0, $1) }
        groups.append(group)
        if groups.count > 1 { scheduleFreeing() }
        return group
    }

    private func takeTransfer() -> CurlTransfer {
        if let transfer = idle.popLast() {
            leastIdle = min(leastIdle, idle.count)
            return transfer
        }
        let transfer = unsafe CurlTransfer(
            options: options, form: form, suppressedFields: suppressedFields,
            sockets: Unmanaged.passUnretained(sockets).toOpaque(), shared: shared)
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

    /// Gives up handles that no request has needed for a while, each of which takes ten kilobytes, and groups.
    private func freeUnused() {
        let unused = max(0, min(leastIdle, idle.count - options.keptHandles))
        let unusedGroups = groups.dropFirst().filter { !$0.wasUsed() }
        free(Array(idle.prefix(unused)), unusedGroups)
        idle.removeFirst(unused)
        leastIdle = idle.count
        groups.removeAll { group in unusedGroups.contains { $0 === group } }
        if idle.count > options.keptHandles || groups.count > 1 { scheduleFreeing() }
    }

    /// Some at a time: ten thousand connections close within a quarter of a second, in which no request would be handled.
    private func free(_ handles: [CurlTransfer], _ groups: [CurlGroup]) {
        for transfer in handles.prefix(Self.freedAtOnce) {
            transfer.free()
            transfers[ObjectIdentifier(transfer)] = nil
        }
        groups.last?.cleanUp()
        let (handles, groups) = (Array(handles.dropFirst(Self.freedAtOnce)), Array(groups.dropLast()))
        guard !handles.isEmpty || !groups.isEmpty else { return }
        EventPoller.shared.schedule(after: .milliseconds(5)) { [self] in free(handles, groups) }
    }

    /// Those of this moment, those that wait for their response among them.
    package var handleCount: Int { transfers.count }
    package var groupCount: Int { groups.count }

    private func cancel(_ transfer: CurlTransfer, _ number: Int) {
        // Its response may have come meanwhile, and the handle may be another request's.
        guard transfer.isRunning, transfer.requestNumber == number else { return }
        finish(transfer, .failure(.cancelled))
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<UpstreamResponse, TransportError>) {
        if options.readsCertificates { certificateEnd = transfer.certificateEnd ?? certificateEnd }
        transfer.group?.remove(transfer.easy)
        transfer.group = nil
        let continuation = unsafe transfer.continuation.take()
        let completion = transfer.completion.take()
        transfer.reset()
        giveBack(transfer)
        unsafe continuation?.resume(returning: result)
        completion?(result)
    }
}

/// Which version of HTTP a transport speaks; over TLS the server may settle for HTTP/1.1.
package enum HTTPVersion: String, Sendable, CaseIterable {
    case http1 = "1.1"
    case http2 = "2"
}
