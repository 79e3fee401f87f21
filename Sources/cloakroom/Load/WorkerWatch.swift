import CloakroomCLinux
import CloakroomFastCGI
import CloakroomLoad
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Looks once a second at what the workers of this machine use, as `/proc` tells it (proc(5)).
@LoopActor
final class WorkerWatch {
    private struct Reading {
        let instant: UInt64
        let cpuNanoseconds: UInt64
        let residentBytes: Int
    }

    private(set) var workers: [WorkerUsage]
    private var last: [Reading?]
    private var start: UInt64 = 0
    private var timer: TimerID?
    private static let period = Duration.seconds(1)

    init(_ processes: [Int32]) {
        workers = processes.map { WorkerUsage(process: $0) }
        last = processes.map { _ in nil }
    }

    func begin() {
        guard !workers.isEmpty else { return }
        start = Monotonic.now
        last = workers.map { Self.read($0.process) }
        schedule()
    }

    func end() {
        guard let timer else { return }
        EventPoller.shared.cancel(timer)
        look()
    }

    private func schedule() {
        timer = EventPoller.shared.schedule(after: Self.period) { [weak self] in
            self?.look()
            self?.schedule()
        }
    }

    /// A worker that has ended has no more samples.
    private func look() {
        for index in workers.indices {
            guard let before = last[index], let now = Self.read(workers[index].process), now.instant > before.instant
            else { continue }
            last[index] = now
            workers[index].samples.append(
                WorkerUsage.Sample(
                    second: Double(now.instant - start) / 1e9,
                    cpu: Double(now.cpuNanoseconds - before.cpuNanoseconds) / Double(now.instant - before.instant),
                    residentBytes: now.residentBytes))
        }
    }

    private static func read(_ process: Int32) -> Reading? {
        guard let times = numbers("/proc/\(process)/schedstat"), let pages = numbers("/proc/\(process)/statm"),
            let cpu = times.first, pages.count > 1
        else { return nil }
        return Reading(
            instant: Monotonic.now, cpuNanoseconds: cpu,
            residentBytes: Int(pages[1]) * Int(sysconf(Int32(_SC_PAGESIZE))))
    }

    private static func numbers(_ path: String) -> [UInt64]? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        return String(decoding: data, as: UTF8.self).split { $0 == " " || $0 == "\n" }.compactMap { UInt64($0) }
    }
}

extension WorkerWatch {
    /// The processes that listen at the addresses, as far as this machine tells them: who listens on a unix socket, and of
    /// ports what their supervisor says.
    nonisolated static func processes(of listen: ListenPattern) -> [Int32] {
        let status = (FileManager.default.contents(atPath: SupervisorFolder.statusFile(listen: listen)))
            .flatMap { $0.count <= 1 << 16 ? SupervisorStatus(Array($0)) : nil }
        let processes = listen.addresses.map { address in
            status?.workers.first { $0.listen == address.description }?.process ?? listener(at: address)
        }
        return processes.compactMap(\.self)
    }

    /// unix(7), `SO_PEERCRED`: that of the process that called listen(2).
    private nonisolated static func listener(at address: ListenAddress) -> Int32? {
        guard case .unix(let path) = address else { return nil }
        var code: Int32 = 0
        let raw = cloakroom_connect_unix(path, &code)
        guard raw >= 0 else { return nil }
        defer { close(raw) }
        let process = cloakroom_peer_process(raw)
        return code == 0 && process > 0 ? process : nil
    }
}
