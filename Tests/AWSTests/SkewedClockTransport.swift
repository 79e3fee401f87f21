import CloakroomAWS
import CloakroomHTTP
import Synchronization

/// An S3 whose clock is an hour ahead of ours: it refuses what ours has signed, when so many have come.
final class SkewedClockTransport: Transport {
    private struct State {
        var refusals = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let together: Int

    init(together: Int) { self.together = together }

    var refusals: Int { state.withLock { $0.refusals } }

    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        if request.fields["x-amz-date"] == "20261120T150000Z" { return .copied }
        await withCheckedContinuation { continuation in
            let all = state.withLock { state in
                state.refusals += 1
                state.waiting.append(continuation)
                return state.refusals == together ? state.waiting : []
            }
            for waiting in all { waiting.resume() }
        }
        return .s3Error(403, "RequestTimeTooSkewed", fields: ["Date": "Fri, 20 Nov 2026 15:00:00 GMT"])
    }
}
