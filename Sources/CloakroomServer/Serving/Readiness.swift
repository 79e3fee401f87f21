package import CloakroomLoop
import CloakroomJSON

/// Whether the worker could do its work now; requested by load balancers, so it responds at once from what it last saw.
@LoopActor
package final class Readiness {
    /// `nil` for good, else a few words.
    package typealias Probe = @LoopActor @Sendable () async -> String?

    private let localChecks: [(name: String, fault: @LoopActor () -> String?)]
    private let probes: [(name: String, probe: Probe)]
    private var faults: [String: String] = [:]
    private var reported: [String: String] = [:]

    /// - Parameters:
    ///   - localChecks: what can be told at once, without a request.
    ///   - probes: run one after the other, all the time; each bounded in time by itself.
    package init(localChecks: [(name: String, fault: @LoopActor () -> String?)], probes: [(name: String, probe: Probe)])
    {
        self.localChecks = localChecks
        self.probes = probes
        for (name, _) in probes { faults[name] = "not asked yet" }
    }

    package var isReady: Bool { faults.isEmpty && localChecks.allSatisfy { $0.fault() == nil } }

    /// What is not usable now, in words, by dependency.
    var currentFaults: [(name: String, fault: String)] {
        localChecks.compactMap { check in check.fault().map { (check.name, $0) } }
            + probes.compactMap { probe in faults[probe.name].map { (probe.name, $0) } }
    }

    /// Probes until the task is cancelled: often while something is wrong, seldom when all is well.
    ///
    /// A connection that is still being made at the first look is no fault to report yet.
    package func watch(log: Log) async {
        var isFirstLook = true
        while !Task.isCancelled {
            for (name, fault) in localChecks {
                let fault = fault()
                if fault == nil || !isFirstLook { report(name, fault, log) }
            }
            isFirstLook = false
            for (name, probe) in probes {
                let fault = await probe()
                faults[name] = fault
                report(name, fault, log)
            }
            try? await LoopActor.sleep(for: isReady ? .seconds(15) : .milliseconds(500))
        }
    }

    /// One line when something becomes unavailable, one when it is available again.
    private func report(_ name: String, _ fault: String?, _ log: Log) {
        guard reported[name] != fault else { return }
        reported[name] = fault
        if let fault {
            log.warning("dependency is not ready", ["dependency": .text(name), "reason": .text(fault)])
        } else {
            log.info("dependency is ready", ["dependency": .text(name)])
        }
    }

    var answer: RouteResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.plainName("ready")
        let isReady = isReady
        writer.bool(isReady)
        for (name, fault) in localChecks {
            writer.name(name)
            writer.string(fault() ?? "ok")
        }
        for (name, _) in probes {
            writer.name(name)
            writer.string(faults[name] ?? "ok")
        }
        writer.endObject()
        return .json(writer.bytes, status: isReady ? 200 : 503)
    }
}
