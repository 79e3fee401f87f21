import CloakroomConnections
import CloakroomCrypto
import CloakroomCurl
import CloakroomLoad
import CloakroomLoop

@testable import CloakroomCommand

/// How a load reaches a server of HTTP/1.1: by the same rules, whatever the way.
enum LoadWay: CaseIterable {
    case libcurl
    case plain

    @LoopActor func target(
        _ url: String, _ mix: RequestMix = RequestMix([.init(.health, weight: 1)]), timeout: Duration = .seconds(10),
        maximumConnections: Int = 512
    ) -> any LoadTarget {
        let requests = LoadRequests(mix, origin: url, tokens: [Secret("t")], keys: ["a.jpg"])
        switch self {
        case .libcurl:
            var options = LoopCurlTransport.Options()
            options.maximumConnections = maximumConnections
            options.connectTimeout = timeout
            return HTTPLoadTarget(requests, options: options, timeout: timeout)
        case .plain:
            guard let server = LoadAddress(url)?.plainServer() else { preconditionFailure("\(url) is no plain server") }
            let client = PlainHTTPClient(
                authority: server.authority, addresses: server.addresses, maximumConnections: maximumConnections)
            return ConnectionsLoadTarget(requests, client: client, timeout: timeout)
        }
    }
}

extension LoadTarget {
    /// What becomes of one request.
    @LoopActor func outcome(of request: Int = 0) async -> LoadOutcome {
        await withCheckedContinuation { continuation in
            send(request) { continuation.resume(returning: $0) }
        }
    }

    /// What becomes of requests that are sent at once, as they end.
    @LoopActor func outcomes(ofFirst count: Int) async -> [LoadOutcome] {
        var outcomes: [LoadOutcome] = []
        await withCheckedContinuation { continuation in
            for request in 0..<count {
                send(request) { outcome in
                    outcomes.append(outcome)
                    if outcomes.count == count { continuation.resume() }
                }
            }
        }
        return outcomes
    }
}
