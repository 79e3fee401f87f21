import Foundation

/// What a background session says, as the events of a carrier.
///
/// `@unchecked`: a lock guards what changes; `Mutex` is not there on the systems that the kit supports.
final class BackgroundTransfers: @unchecked Sendable {
    let events = TransferEvents()
    private let lock = NSLock()
    /// The beginnings of responses' bodies, by transfer.
    private var bodies: [String: Data] = [:]
    private var cancelled: [String: [CheckedContinuation<Void, Never>]] = [:]
    private var completions: [@Sendable () -> Void] = []
    /// Whether the system has said that it has no more events for this launch.
    private var hasAllEvents = false

    /// Of a body, which is a refusal's reason.
    static let maximumBodyBytes = 64 << 10

    func didSend(_ id: String, bytesSent: Int64) { events.send(.progress(id: id, bytesSent: bytesSent)) }

    func didReceive(_ id: String, _ data: Data) {
        lock.withLock {
            let rest = Self.maximumBodyBytes - bodies[id, default: Data()].count
            bodies[id, default: Data()].append(data.prefix(rest))
        }
    }

    /// - Parameters:
    ///   - head: `nil` without a response.
    ///   - error: `nil` for a response that is whole.
    func didEnd(_ id: String, _ head: HTTPResponseHead?, _ error: HTTPTransportError?) {
        let (body, waiting) = lock.withLock {
            (bodies.removeValue(forKey: id) ?? Data(), cancelled.removeValue(forKey: id) ?? [])
        }
        let result: Result<HTTPResponse, HTTPTransportError> =
            if let error {
                .failure(error)
            } else if let head {
                .success(HTTPResponse(status: head.status, fields: head.fields, body: body))
            } else {
                .failure(.interrupted)
            }
        events.send(.ended(id: id, result))
        for waiter in waiting { waiter.resume() }
    }

    /// Cancels, and waits for the end.
    ///
    /// - Parameter cancel: returns whether there is such a transfer; its end follows then.
    func end(_ id: String, cancel: @escaping @Sendable () async -> Bool) async {
        await withCheckedContinuation { waiter in
            lock.withLock { cancelled[id, default: []].append(waiter) }
            Task {
                if await !cancel() { self.release(id) }
            }
        }
    }

    private func release(_ id: String) {
        for waiter in lock.withLock({ cancelled.removeValue(forKey: id) ?? [] }) { waiter.resume() }
    }

    // MARK: Launches by the system

    /// The system launched the app for this session, and wants to know when it may suspend it again.
    ///
    /// - Parameter completion: called once, when all events have come, also when they had before.
    func handleEvents(completion: @escaping @Sendable () -> Void) {
        let isDone = lock.withLock {
            defer { hasAllEvents = false }
            if !hasAllEvents { completions.append(completion) }
            return hasAllEvents
        }
        if isDone { completion() }
    }

    func didReceiveAllEvents() {
        let completions = lock.withLock {
            defer { self.completions = [] }
            hasAllEvents = self.completions.isEmpty
            return self.completions
        }
        for completion in completions { completion() }
    }
}

/// Bodies for a session that sends whole files only.
struct BackgroundBodies: Sendable {
    /// Of parts that were cut out of files.
    let folder: URL

    /// - Returns: the file to be sent: the one of the request, or one that has what the request sends of it.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile``, ``CloakroomError/Code/diskFull``.
    @concurrent func file(of request: HTTPRequest, id: String) async throws -> URL {
        let bytes: Data
        switch request.body {
        case .none: bytes = Data()
        case .bytes(let data): bytes = data
        case .file(let url, let range):
            let file = try UploadFile(url)
            if range == 0..<file.byteCount { return url }
            guard range.lowerBound >= 0, range.upperBound <= file.byteCount else {
                throw CloakroomError(.unreadableFile, "\(url.lastPathComponent) is shorter than what is to be sent")
            }
            bytes = try await file.read(range)
        }
        let part = self.part(id)
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try bytes.write(to: part, options: .atomic)
            // The system reads it while the device is locked.
            try part.protect()
        } catch {
            let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
            throw CloakroomError(
                isFull ? .diskFull : .unwritableFile, "the part to send: \(error.localizedDescription)")
        }
        return part
    }

    /// After the end of a transfer.
    func remove(_ id: String) { try? FileManager.default.removeItem(at: part(id)) }

    /// Removes those of transfers that are not under way.
    func removeAll(but ids: Set<String>) {
        let kept = Set(ids.map { part($0).lastPathComponent })
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where !kept.contains(name) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }

    private func part(_ id: String) -> URL {
        folder.appendingPathComponent(id.replacingOccurrences(of: "/", with: "-") + ".part", isDirectory: false)
    }
}
