import Foundation

/// What the kernel tells of processes (proc(5)).
enum ProcessTable {
    static func children(of parent: pid_t) -> [pid_t] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return numbers.compactMap { pid_t($0) }
            .filter { fields(of: $0).map { $0[1] == String(parent) && $0[0] != "Z" } ?? false }.sorted()
    }

    /// Processes on whose command line this text stands.
    static func naming(_ text: String) -> [pid_t] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return numbers.compactMap { pid_t($0) }.filter { RunFolder.text(of: "/proc/\($0)/cmdline").contains(text) }
    }

    static func isAlive(_ process: pid_t) -> Bool { fields(of: process).map { $0[0] != "Z" } ?? false }

    /// Milliseconds of CPU time, in user mode and in the kernel.
    static func cpuTime(_ process: pid_t) -> Double {
        guard let fields = fields(of: process), let user = Double(fields[11]), let kernel = Double(fields[12]) else {
            return 0
        }
        return (user + kernel) * 1000 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Megabytes in memory.
    static func residentMegabytes(_ process: pid_t) -> Double {
        guard let fields = fields(of: process), let pages = Double(fields[21]) else { return 0 }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576
    }

    /// From the third field of `stat` on: the first two may hold spaces.
    private static func fields(of process: pid_t) -> [String]? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[end...].dropFirst(2).split(separator: " ").map(String.init)
        return fields.count > 30 ? fields : nil
    }
}
