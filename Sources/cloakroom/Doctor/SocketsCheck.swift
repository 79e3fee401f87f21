import CloakroomConnections
import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomWire

/// Checks over each worker's own socket, as nginx would, whether it is ready.
@LoopActor
struct SocketsCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        guard !dependencies.options.sockets.isEmpty else {
            return [
                CheckName.sockets.skipped(
                    "the workers' sockets were not checked",
                    advice: "say with --listen and --workers where they are, as to serve")
            ]
        }
        let sockets = dependencies.options.sockets
        let outcomes = await Self.outcomes(sockets, timeout: .seconds(3))
        return SocketFindings.all(
            zip(sockets, outcomes).map { ($0.description, $1) }, upstream: dependencies.options.upstream)
    }

    /// Of all workers at once: silent ones take no longer than one.
    static func outcomes(_ addresses: [ListenAddress], timeout: Duration) async -> [SocketOutcome] {
        let probes = addresses.map { address in LoopActor.spawn { await probe(address, timeout: timeout) } }
        return await withTaskCancellationHandler {
            var outcomes: [SocketOutcome] = []
            for probe in probes { outcomes.append(await probe.value) }
            return outcomes
        } onCancel: {
            for probe in probes { probe.cancel() }
        }
    }

    private static func probe(_ address: ListenAddress, timeout: Duration) async -> SocketOutcome {
        do throws(ExchangeError) {
            let response = try await FastCGIClient(address).send(
                UpstreamRequest(method: Route.readiness.method, origin: "", target: Route.readiness.rawValue),
                timeout: timeout)
            return .answered(status: response.status, body: response.body)
        } catch {
            switch error {
            case .unreachable(let word): return .unreachable(word.description)
            case .timeout, .interrupted, .malformed, .tooLarge: return .silent
            }
        }
    }
}
