import CloakroomOperations
import Foundation

/// What stays small however long a world lives, what is gone in time, and what can be verified when all is over.
extension Oracle {
    /// Of a whole process, for each worker and device that lives, and for each that was killed: these never close what they had.
    private static var descriptors: (base: Int, worker: Int, device: Int, killed: Int) { (64, 24, 24, 24) }

    func lookAtBounds() {
        guard let world else { return }
        for key in world.redis.stores.flatMap(\.lastingKeys) where !key.hasPrefix("cloakroom:user:") {
            Finding.end("Redis keeps \(key) for good")
        }
        let count = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        let killed = Trace.count(of: .workerKilled) + Trace.count(of: .appKilled)
        let most =
            Self.descriptors.base
            + world.workers.count * (Self.descriptors.worker + 8 * (world.redis.servers.count - 1))
            + world.devices.count * Self.descriptors.device + killed * Self.descriptors.killed
        Trace.most("descriptors", count)
        Trace.most("sleeping", VirtualTime.shared.sleeping)
        Trace.most("redis", world.redis.stores.map(\.count).max() ?? 0)
        Finding.require(count <= most, "\(count) descriptors are open")
        for worker in world.workers {
            let status = worker.status
            Finding.require(status.inFlight <= 64, "\(worker.name) has \(status.inFlight) requests under way")
            Finding.require(
                status.pending <= 256, "\(worker.name) waits for \(status.pending) replies of Redis")
        }
    }

    /// S3 removes an object up to a day after its expiration, and lifecycle runs at midnight.
    func lookAtForgotten() {
        for (key, time) in forgotten.sorted(by: { $0.key < $1.key })
        where Date().timeIntervalSince(time) > Double(rules.retentionDays + 3) * 86_400 {
            Finding.require(
                world?.store.s3.exists(key) == false, "\(key) is there still, and no device refers to it")
            forgotten[key] = nil
        }
    }

    /// Of all workers that there were.
    func verifyAudits(_ world: World) {
        for name in world.names {
            let file = "\(world.folder)/audit-\(name)"
            guard let text = FileManager.default.contents(atPath: file) else { continue }
            var verifier = AuditVerifier { fault in
                FileHandle.standardError.write(Data("\(fault)\n".utf8))
            }
            var number = 0
            for line in text.split(separator: UInt8(ascii: "\n")) {
                number += 1
                verifier.verify(Array(line), at: "\(name):\(number)")
            }
            verifier.finish()
            Finding.require(verifier.faultCount == 0, "the audit of \(name) has \(verifier.faultCount) faults")
            Finding.require(verifier.otherLines == 0, "the audit of \(name) has \(verifier.otherLines) other lines")
        }
    }
}
