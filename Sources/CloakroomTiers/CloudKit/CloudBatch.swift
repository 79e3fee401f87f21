/// Joins what several callers want at the same time to one request: CloudKit limits requests, not records.
///
/// The first call is sent at once; what comes while requests are under way is sent together.
actor CloudBatch<Item: Sendable, Output: Sendable> {
    typealias Request = @Sendable ([Item]) async -> [String: Result<Output, CloudFault>]

    private struct Call {
        let item: Item
        let continuation: CheckedContinuation<Result<Output, CloudFault>, Never>
    }

    private static var maximumRequests: Int { 2 }

    private let name: @Sendable (Item) -> String
    private let request: Request
    private var calls: [Int: Call] = [:]
    private var waiting: [Int] = []
    private var requestsUnderWay = 0
    private var lastID = 0

    init(name: @escaping @Sendable (Item) -> String, request: @escaping Request) {
        self.name = name
        self.request = request
    }

    /// Calls that are in no request yet.
    var waitingCount: Int { waiting.count { calls[$0] != nil } }

    /// - Throws: ``CloudFault/cancelled`` at once when the caller is; a request that is under way goes on.
    func send(_ item: Item) async throws(CloudFault) -> Output {
        lastID += 1
        let id = lastID
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                calls[id] = Call(item: item, continuation: continuation)
                waiting.append(id)
                start()
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
        return try result.get()
    }

    private func cancel(_ id: Int) {
        calls.removeValue(forKey: id)?.continuation.resume(returning: .failure(.cancelled))
    }

    private func start() {
        guard requestsUnderWay < Self.maximumRequests else { return }
        var batch: [(id: Int, item: Item)] = []
        var names: Set<String> = []
        var rest: [Int] = []
        for id in waiting {
            guard let call = calls[id] else { continue }
            // CloudKit refuses a request that names a record twice.
            if batch.count < CloudRequests.maximumRecords, names.insert(name(call.item)).inserted {
                batch.append((id, call.item))
            } else {
                rest.append(id)
            }
        }
        waiting = rest
        guard !batch.isEmpty else { return }
        requestsUnderWay += 1
        let sent = batch
        Task { await run(sent) }
    }

    private func run(_ batch: [(id: Int, item: Item)]) async {
        let results = await request(batch.map(\.item))
        for (id, item) in batch {
            calls.removeValue(forKey: id)?.continuation.resume(
                returning: results[name(item)] ?? .failure(.busy(retryAfter: nil)))
        }
        requestsUnderWay -= 1
        start()
    }
}
