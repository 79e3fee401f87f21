import Foundation

extension Outbox {
    /// Listens to the carrier, and finds what an earlier process began; the first time only.
    func attach() async throws {
        guard transfers.listener == nil else { return }
        let events = await carrier.events()
        try checkOpen()
        // Another call may have been here meanwhile; the carrier's events are read once.
        guard transfers.listener == nil else { return }
        transfers.listener = Task { [weak self] in
            for await event in events { await self?.handle(event) }
        }
        let found = await carrier.transfersUnderWay().filter { $0.hasPrefix(transferPrefix) }
        try checkOpen()
        let known = Set(try store.begun().compactMap(\.transfer))
        // Ends that the carrier kept are in its stream, which the listener reads: heard too late, what S3 has would be sent again.
        for _ in 0..<Self.turnsForEnds where !known.subtracting(found).isSubset(of: transfers.ends.keys) {
            await Task.yield()
        }
        try checkOpen()
        // Some may have ended meanwhile.
        transfers.underWay = found.intersection(known).subtracting(transfers.ends.keys)
        // Of items that are gone.
        for id in found where !known.contains(id) { await carrier.cancel(id: id) }
    }

    /// So often others go first while an end is missing: each is read within a few turns, and one that never comes costs no time to
    /// speak of.
    private static let turnsForEnds = 100

    private func handle(_ event: TransferEvent) {
        switch event {
        case .progress(let id, let bytesSent):
            guard let item = itemID(ofTransfer: id), transfers.sent[item] != nil else { return }
            transfers.sent[item] = bytesSent
            publish(isProgress: true)
        case .ended(let id, let result): end(id, result)
        }
    }

    private func end(_ id: String, _ result: Result<HTTPResponse, HTTPTransportError>) {
        guard id.hasPrefix(transferPrefix) else { return }
        transfers.underWay.remove(id)
        if let waiting = transfers.waiting.removeValue(forKey: id) {
            waiting.resume(returning: result)
        } else {
            transfers.ends[id] = result
        }
    }

    /// Sends a request by the carrier.
    ///
    /// - Parameter row: written before, so that a later process knows of the transfer.
    /// - Throws: ``CloakroomError``, of a transfer without a response.
    func transfer(_ request: HTTPRequest, _ row: inout OutboxRow) async throws -> HTTPResponse {
        if Task.isCancelled { throw CloakroomError.cancelled }
        let wasStored = row.mayBeStored
        let id = begin(&row)
        // A photo has one place, which takes it once: it would be found there.
        try store.update(row, durability: row.kind == .photo ? .processEnd : .powerFailure)
        await onStep(.begun)
        transfers.underWay.insert(id)
        do { try await carrier.start(request, id: id) } catch {
            transfers.underWay.remove(id)
            row.mayBeStored = wasStored
            throw CloakroomError(of: error)
        }
        await onStep(.started)
        let result = await resultOfTransfer(id)
        await onStep(.ended)
        switch result {
        case .success(let response):
            // S3 has said that it did not store this one.
            if (400..<500).contains(response.status) { row.mayBeStored = wasStored }
            return response
        case .failure(let error):
            if !error.mayHaveSent { row.mayBeStored = wasStored }
            if error == .unreadableFile { try await checkBytes(row) }
            throw CloakroomError(error)
        }
    }

    /// Notes in the row that a transfer is about to begin.
    func begin(_ row: inout OutboxRow) -> String {
        // Never one that there was: a count would begin anew with a row, and the carrier may still have the end of an earlier one.
        let id = "\(transferPrefix)\(row.id)/\(UUID().uuidString.lowercased())"
        row.transfer = id
        row.mayBeStored = true
        return id
    }

    /// What became of a transfer of an earlier process.
    ///
    /// - Returns: `nil` when that is not known.
    func earlierResponse(_ row: inout OutboxRow) async throws -> HTTPResponse? {
        guard let id = row.transfer else { return nil }
        guard transfers.underWay.contains(id) || transfers.ends[id] != nil else { return nil }
        guard case .success(let response) = await resultOfTransfer(id) else {
            if Task.isCancelled { throw CloakroomError.cancelled }
            return nil
        }
        return response
    }

    /// Waits for the end of a transfer, and cancels it with the task.
    private func resultOfTransfer(_ id: String) async -> Result<HTTPResponse, HTTPTransportError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let end = transfers.ends.removeValue(forKey: id) { return continuation.resume(returning: end) }
                transfers.waiting[id] = continuation
            }
        } onCancel: {
            Task { await self.cancelTransfer(id) }
        }
    }

    private func cancelTransfer(_ id: String) async {
        if isDetaching {
            transfers.waiting.removeValue(forKey: id)?.resume(returning: .failure(.cancelled))
            return
        }
        await carrier.cancel(id: id)
        if transfers.waiting[id] != nil { end(id, .failure(.cancelled)) }
        transfers.ends[id] = nil
    }

    /// Which transfers are this outbox's.
    var transferPrefix: String { "cloakroom-outbox/\(folder.url.lastPathComponent)/" }

    private func itemID(ofTransfer id: String) -> String? {
        guard id.hasPrefix(transferPrefix) else { return nil }
        return id.dropFirst(transferPrefix.count).split(separator: "/").first.map(String.init)
    }
}

extension HTTPTransportError {
    /// Whether a part of the body may have gone out.
    fileprivate var mayHaveSent: Bool {
        switch self {
        case .unreachable, .untrusted, .invalidRequest, .unreadableFile, .notAllowedNow: false
        case .timedOut, .interrupted, .tooLarge, .encoded, .unwritableFile, .cancelled: true
        }
    }
}
