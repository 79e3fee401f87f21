import CloakroomConnections
import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoop

/// nginx, as far as it decides: which worker, which one next, and what a client gets when there is none.
///
/// Source: nginx.org, ngx_http_upstream_module, `least_conn`, `proxy_next_upstream`; nginx/ of this project.
@LoopActor
final class Front {
    private struct Server {
        let worker: WorkerProcess
        let client: FastCGIClient
        /// By their order: that of addresses in memory is not the seed's.
        var exchanges: [Int: Exchange] = [:]
    }

    /// One request at one worker, which may end before it.
    @LoopActor
    private final class Exchange {
        private var continuation: CheckedContinuation<Result<UpstreamResponse, ExchangeError>, Never>?
        private var wasKilled = false

        init(_ continuation: CheckedContinuation<Result<UpstreamResponse, ExchangeError>, Never>) {
            self.continuation = continuation
        }

        func end(_ result: Result<UpstreamResponse, ExchangeError>, isOfKill: Bool = false) {
            Finding.require(continuation != nil || isOfKill || wasKilled, "a request ends twice")
            wasKilled = wasKilled || isOfKill
            continuation?.resume(returning: result)
            continuation = nil
        }
    }

    private var servers: [Server] = []
    private let oracle: Oracle
    private var arrivals: [Once] = []
    private var exchangeCount = 0
    private(set) var underWay = 0
    private var killed: Set<String> = []
    private static let timeout = Duration.seconds(30)

    init(_ oracle: Oracle) { self.oracle = oracle }

    func add(_ worker: WorkerProcess) {
        servers.append(Server(worker: worker, client: FastCGIClient(worker.address, maximumConnections: 32)))
    }

    /// - Parameter isDead: connections to it break; else what is under way there goes on.
    func remove(_ worker: WorkerProcess, isDead: Bool) {
        guard let index = servers.firstIndex(where: { $0.worker === worker }) else { return }
        let server = servers.remove(at: index)
        if !server.exchanges.isEmpty { Trace.reached(isDead ? .killedUnderLoad : .reloadUnderLoad) }
        guard isDead else { return }
        killed.insert(worker.name)
        for (_, exchange) in server.exchanges.sorted(by: { $0.key < $1.key }) {
            exchange.end(.failure(.interrupted), isOfKill: true)
        }
    }

    /// The worker with most requests, if one has any.
    var busiest: WorkerProcess? {
        servers.filter { !$0.exchanges.isEmpty }.max { $0.exchanges.count < $1.exchanges.count }?.worker
    }

    func answer(_ request: UpstreamRequest) async -> UpstreamResponse {
        let began = VirtualTime.now
        underWay += 1
        defer { underWay -= 1 }
        for arrival in arrivals { arrival.call() }
        arrivals = []
        var tried: [String] = []
        while let index = next(tried) {
            let worker = servers[index].worker
            tried.append(worker.name)
            let result = await exchange(request, at: index)
            switch result {
            case .success(let response):
                oracle.answered(request, response, by: worker, seconds: Double(VirtualTime.now - began) / 1e9)
                return response
            case .failure(let error):
                Trace.note("front", "\(request.method) \(request.target): \(worker.name): \(error)")
                Trace.reached(.deadWorkerMet)
                // A request that may have been carried out is not sent again, unless it only reads.
                if case .unreachable = error { continue }
                Finding.require(
                    killed.contains(worker.name),
                    "\(worker.name) accepts \(request.method) \(request.target), and never responds: \(error)")
                guard request.method == "GET" else {
                    return UpstreamResponse(status: error == .timeout ? 504 : 502)
                }
            }
        }
        return UpstreamResponse(status: 502)
    }

    private func exchange(_ request: UpstreamRequest, at index: Int) async -> Result<UpstreamResponse, ExchangeError> {
        let (worker, client) = (servers[index].worker, servers[index].client)
        exchangeCount += 1
        let own = exchangeCount
        let result = await withCheckedContinuation { continuation in
            let exchange = Exchange(continuation)
            servers[index].exchanges[own] = exchange
            client.send(request, timeout: Self.timeout) { exchange.end($0) }
        }
        if let index = servers.firstIndex(where: { $0.worker === worker }) {
            servers[index].exchanges[own] = nil
        }
        return result
    }

    /// Returns when the next request comes, or the time is up.
    func arrival(within seconds: Double) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let arrival = Once { continuation.resume() }
            arrivals.append(arrival)
            EventPoller.shared.schedule(after: .milliseconds(Int(seconds * 1000))) { arrival.call() }
        }
    }

    private func next(_ tried: [String]) -> Int? {
        servers.indices.filter { !tried.contains(servers[$0].worker.name) }.min {
            servers[$0].exchanges.count < servers[$1].exchanges.count
        }
    }
}
