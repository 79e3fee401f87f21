import CloakroomJSON

/// The response of a worker's own socket to a request for its readiness.
package enum SocketOutcome: Sendable, Equatable {
    case answered(status: Int, body: [UInt8])
    /// With the system's word for it.
    case unreachable(String)
    case silent
}

/// Checks the workers, past nginx.
package enum SocketFindings {
    private static let check = CheckName.sockets

    /// - Parameter upstream: what nginx knows of the workers; `nil` where that was not given.
    package static func all(
        _ outcomes: [(address: String, outcome: SocketOutcome)], upstream: NginxUpstream? = nil
    ) -> [Finding] {
        outcomes.map { finding($0.address, $0.outcome) } + (upstream?.findings(outcomes.map(\.address)) ?? [])
    }

    private static func finding(_ address: String, _ outcome: SocketOutcome) -> Finding {
        switch outcome {
        case .answered(200, _): return check.ok("the worker at \(address) is ready")
        case .answered(503, let body):
            return check.error(
                "the worker at \(address) is not ready\(missing(body))",
                why: "nginx sends it requests that it must refuse",
                advice: "see the findings about what it lacks, and its log",
                command: "journalctl --unit cloakroom --lines 50")
        case .answered(let status, _):
            return check.error(
                "\(address) responds \(status) to /readyz", why: "that is no worker, or one of another version",
                advice: "fix --listen, and upstream.conf of nginx")
        case .silent:
            return check.error(
                "the worker at \(address) does not respond", why: "it hangs, or is busy beyond measure",
                advice: "look into its log; serve --workers replaces a worker that hangs",
                command: "journalctl --unit cloakroom --lines 50")
        case .unreachable(let word):
            return check.error(
                "no worker can be reached at \(address): \(word)", why: "nginx responds 502 for this worker's share",
                advice: "start cloakroom serve; run the doctor as a user who may open the socket",
                command: "systemctl status cloakroom")
        }
    }

    /// What it says it lacks.
    private static func missing(_ body: [UInt8]) -> String {
        let lacks = ((try? JSON(parsing: body))?.object?.members ?? []).compactMap { member in
            member.value.string.flatMap { $0 == "ok" ? nil : "\(member.name): \($0.prefix(200))" }
        }
        return lacks.isEmpty ? "" : " (\(lacks.joined(separator: "; ")))"
    }
}
