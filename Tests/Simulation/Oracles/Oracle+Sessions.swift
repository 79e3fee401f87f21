import CloakroomJSON
import Foundation

@testable import CloakroomServer

/// How often STS is called, and what a worker does when it does not answer.
extension Oracle {
    /// Half of a lifetime, less a minute of delays.
    private var reuse: TimeInterval { Double(rules.lifetimeSeconds) / 2 - 60 }
    /// Workers that look at the same time call STS each, once the lock of one has ended.
    private static let together: TimeInterval = 30

    /// A worker has a new session of a user. It has no other for half of its lifetime, nor has any other worker, where they
    /// share what they vended and nothing kept them from it.
    func called(for user: String, by worker: String, isDelivered: Bool) {
        guard rules.cachesCredentials else { return }
        let now = Date()
        let holder = "\(worker) \(user)"
        let revoked = lastRevocations[user]
        if let last = lastSession[holder] {
            let age = now.timeIntervalSince(last)
            if age < Double(rules.lifetimeSeconds) { Trace.reached(.refreshed) }
            if age < reuse, revoked.map({ $0 < last - 1 }) ?? true {
                Finding.end("\(worker) calls STS for \(user) again after \(Int(age)) s")
            }
        }
        if rules.sharesCredentials, let last = lastSession[user], Self.together..<reuse ~= now.timeIntervalSince(last),
            revoked.map({ $0 < last - 1 }) ?? true, isUndisturbed(since: last - Self.together)
        {
            Finding.end(
                "\(worker) calls STS for \(user), for whom another did \(Int(now.timeIntervalSince(last))) s before")
        }
        lastSession[holder] = isDelivered ? now : nil
        lastSession[user] = isDelivered ? now : nil
    }

    /// No worker was killed, and each could reach Redis all the time.
    private func isUndisturbed(since time: Date) -> Bool {
        (lastKill.map { $0 < time } ?? true) && workersAlone(since: time) == 0
    }

    /// Workers that could not reach Redis at some time, and counted alone.
    func workersAlone(since time: Date) -> Int {
        guard let world else { return 0 }
        let first = UInt64(max(0, time.timeIntervalSince1970) * 1e9)
        return world.names.count { name in
            world.redis.servers.contains { (world.network.lastLoss(name, $0) ?? 0) >= first }
        }
    }

    func watchBreaker(of worker: WorkerProcess, _ status: Int) {
        guard status == 503 || openBreakers.contains(worker.name) else { return }
        let report = worker.status
        if openBreakers.contains(worker.name) {
            guard report.isClosed else { return }
            openBreakers.remove(worker.name)
            Trace.reached(.breakerClosed)
        } else if !report.isClosed {
            openBreakers.insert(worker.name)
            Trace.reached(.breakerOpened)
        }
    }
}

extension WorkerProcess {
    struct Status {
        let inFlight: Int
        /// Of replies of Redis.
        let pending: Int
        /// Of breakers.
        let isClosed: Bool

        init?(_ json: JSON) {
            guard let inFlight = json.object?["inFlight"]?.integer, let breakers = json.object?["breakers"]?.array,
                let pending = json.object?["redis"]?.object?["pending"]?.integer
            else { return nil }
            let states = breakers.compactMap { $0.object?["state"]?.string }
            guard states.count == breakers.count else { return nil }
            (self.inFlight, self.pending) = (inFlight, pending)
            isClosed = states.allSatisfy { $0 == RoleBreaker.State.closed.rawValue }
        }
    }

    /// What the worker tells of itself.
    var status: Status {
        let members = builder.status.own.report().members
        let text = Array("{".utf8) + members + Array("}".utf8)
        guard let json = try? JSON(parsing: text), let status = Status(json) else {
            Finding.end("\(name): its status cannot be read: \(String(decoding: text, as: UTF8.self))")
        }
        return status
    }
}
