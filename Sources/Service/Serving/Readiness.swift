package import Loop
import StrictJSON

/// Whether the worker could do its work now; asked by load balancers, so it answers at once from what it last saw.
@LoopActor
package final class Readiness {
    /// `nil` for good, else a few words.
    package typealias Probe = @LoopActor @Sendable () async -> String?

    private let probes: [(name: String, probe: Probe)]
    private var faults: [String: String] = [:]

    /// - Parameter probes: asked one after the other, all the time; each bounded in time by itself.
    package init(_ probes: [(name: String, probe: Probe)]) {
        self.probes = probes
        for (name, _) in probes { faults[name] = "not asked yet" }
    }

    package var isReady: Bool { faults.isEmpty }

    /// Asks until the task is cancelled: often while something is wrong, seldom when all is well.
    package func watch(log: Log) async {
        // Connections made at start are up by then; asked at once, each would be reported as missing first.
        try? await LoopActor.sleep(for: .milliseconds(50))
        while !Task.isCancelled {
            for (name, probe) in probes {
                let fault = await probe()
                let before = faults.updateOrRemove(fault, forKey: name)
                guard before != fault else { continue }
                if let fault {
                    log.warning("dependency is not ready", ["dependency": .text(name), "reason": .text(fault)])
                } else {
                    log.info("dependency is ready", ["dependency": .text(name)])
                }
            }
            try? await LoopActor.sleep(for: isReady ? .seconds(15) : .milliseconds(500))
        }
    }

    var answer: Answer {
        var writer = JSONWriter()
        writer.beginObject()
        writer.plainName("ready")
        writer.bool(isReady)
        for (name, _) in probes {
            writer.name(name)
            writer.string(faults[name] ?? "ok")
        }
        writer.endObject()
        return .json(writer.bytes, status: isReady ? 200 : 503)
    }
}

extension Dictionary {
    fileprivate mutating func updateOrRemove(_ value: Value?, forKey key: Key) -> Value? {
        if let value { updateValue(value, forKey: key) } else { removeValue(forKey: key) }
    }
}
