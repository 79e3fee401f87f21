import CloakroomCurl
import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoad
import CloakroomLoop

/// nginx, over libcurl.
@LoopActor
final class HTTPLoadTarget: LoadTarget {
    private let transport: LoopCurlTransport
    private let requests: LoadRequests
    private let timeout: Duration

    init(_ requests: LoadRequests, options: LoopCurlTransport.Options, timeout: Duration) {
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

/// A worker itself, as nginx reaches it.
@LoopActor
final class FastCGILoadTarget: LoadTarget {
    private let client: FastCGIClient
    private let requests: LoadRequests
    private let timeout: Duration

    init(_ requests: LoadRequests, address: ListenAddress, maximumConnections: Int, timeout: Duration) {
        client = FastCGIClient(address, maximumConnections: maximumConnections)
        self.requests = requests
        self.timeout = timeout
    }

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
    init(_ error: FastCGIClientError) {
        switch error {
        case .unreachable: self = .unreachable
        case .timeout: self = .timeout
        case .interrupted: self = .interrupted
        case .malformed, .tooLarge: self = .malformed
        }
    }
}
