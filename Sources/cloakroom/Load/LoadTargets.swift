import CloakroomConnections
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoad
import CloakroomLoop

/// nginx, over libcurl: with TLS, or over HTTP/2.
@LoopActor
final class HTTPLoadTarget: LoadTarget {
    let connections: Int?
    private let transport: LoopCurlTransport
    private let requests: LoadRequests
    private let timeout: Duration

    init(_ requests: LoadRequests, options: LoopCurlTransport.Options, timeout: Duration) {
        // Over HTTP/2 many requests share one.
        connections = options.version == .http1 ? options.maximumConnections : nil
        transport = LoopCurlTransport(options: options)
        self.requests = requests
        self.timeout = timeout
    }

    func send(_ request: Int, then completion: @escaping @LoopActor (LoadOutcome) -> Void) {
        transport.send(requests.request(request), timeout: timeout) { result in
            switch result {
            case .success(let response): completion(.response(status: response.status))
            case .failure(let error): completion(.failure(LoadFailure(error)))
            }
        }
    }
}

/// What is reached on kept connections without libcurl: a worker itself, as nginx reaches it, or nginx without TLS.
@LoopActor
final class ConnectionsLoadTarget: LoadTarget {
    private let client: any ExchangeClient
    private let requests: LoadRequests
    private let timeout: Duration

    init(_ requests: LoadRequests, client: any ExchangeClient, timeout: Duration) {
        self.client = client
        self.requests = requests
        self.timeout = timeout
    }

    var connections: Int? { client.maximumConnections }

    func send(_ request: Int, then completion: @escaping @LoopActor (LoadOutcome) -> Void) {
        client.send(requests.request(request), timeout: timeout) { result in
            switch result {
            case .success(let response): completion(.response(status: response.status))
            case .failure(let error): completion(.failure(LoadFailure(error)))
            }
        }
    }
}

extension LoadFailure {
    init(_ error: ExchangeError) {
        switch error {
        case .unreachable: self = .unreachable
        case .timeout: self = .timeout
        case .interrupted: self = .interrupted
        case .malformed, .tooLarge: self = .malformed
        }
    }
}
