import CloakroomHTTP
import CloakroomLoop

@testable import CloakroomScriptedS3

/// What leads a worker to STS and S3: libcurl's place.
final class WorkerUpstreams: Transport {
    private let worker: String
    private let world: World

    @LoopActor init(of worker: String, in world: World) {
        self.worker = worker
        self.world = world
    }

    func send(_ request: consuming UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse
    {
        let sent = request
        let patience = Plant.current == .timeoutIsIgnored ? .seconds(40) : timeout
        return try await exchange(sent, patience)
    }

    @LoopActor private func exchange(_ request: UpstreamRequest, _ timeout: Duration) async throws(TransportError)
        -> UpstreamResponse
    {
        let isTokens = request.origin == World.stsURL
        let other = isTokens ? "sts" : "s3"
        let fate = world.network.fate(worker, other)
        guard fate != .refused else { throw .unreachable }
        let (there, back) = (world.network.delay(isTokens ? 40 : 15), world.network.delay(5))
        let isLate = there + back >= timeout
        guard fate != .lostBefore, there < timeout else {
            try await pause(Plant.current == .timeoutIsIgnored ? timeout : min(there, timeout))
            throw isLate ? .timeout : .interrupted
        }
        try await pause(there)
        let outcome = perform(request, isTokens, isDelivered: fate == .delivered && !isLate)
        try await pause(isLate ? timeout - there : back, afterEffect: true)
        if isLate { throw .timeout }
        guard fate == .delivered else {
            Trace.reached(isTokens ? .tokensResponseLost : .storeResponseLost)
            throw .interrupted
        }
        switch outcome {
        case .response(let response): return response
        case .failure(let error):
            if error == .timeout { try await pause(timeout - there - back) }
            throw error
        }
    }

    private enum Outcome {
        case response(UpstreamResponse)
        case failure(TransportError)
    }

    @LoopActor private func perform(_ request: UpstreamRequest, _ isTokens: Bool, isDelivered: Bool) -> Outcome {
        if isTokens {
            return .response(
                world.tokens.answer(request) { world.oracle.vended($0, $1, for: worker, isDelivered: isDelivered) })
        }
        if Plant.current == .copyIsNotDone, request.fields["x-amz-copy-source"] != nil {
            let copied =
                "<CopyObjectResult><LastModified>2026-09-21T00:00:00.000Z</LastModified><ETag>\"e\"</ETag></CopyObjectResult>"
            return .response(UpstreamResponse(status: 200, body: Array(copied.utf8)))
        }
        var fields = request.fields.map { (name: $0.name, value: $0.value) }
        if request.fields["host"] == nil { fields.append(("Host", World.s3Host)) }
        if !request.body.isEmpty { fields.append(("Content-Length", String(request.body.count))) }
        switch world.store.answer(request.method, request.target, fields, request.body) {
        case .response(let reply):
            var response = UpstreamResponse(status: reply.status, body: reply.hidesBody ? [] : reply.body)
            for field in reply.fields { response.fields.add(field.name, field.value) }
            return .response(response)
        case .broken: return .failure(.interrupted)
        case .silence: return .failure(.timeout)
        }
    }

    /// A worker that was killed waits for good.
    @LoopActor private func pause(_ duration: Duration, afterEffect: Bool = false) async throws(TransportError) {
        do { try await LoopActor.sleep(for: duration) } catch { throw .cancelled }
        guard world.isAlive(worker) else {
            if afterEffect { Trace.reached(.killedBetween) }
            await world.waitForGood()
        }
    }
}
