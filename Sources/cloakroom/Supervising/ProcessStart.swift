import Glibc

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// When this process was started. A program that runs in the place of another after exec goes on with the time of the first.
enum ProcessStart {
    /// In seconds since 1970; the present where the system does not tell.
    static var secondsSince1970: Int {
        let now = Int(time(nil))
        var sinceBoot = timespec()
        guard let line = FileManager.default.contents(atPath: "/proc/self/stat"),
            let ticks = ticks(String(decoding: line, as: UTF8.self)),
            clock_gettime(CLOCK_BOOTTIME, &sinceBoot) == 0
        else { return now }
        return now - (Int(sinceBoot.tv_sec) - ticks / max(1, sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Since the system was started (proc_pid_stat(5): field 22, behind the program's name, which may hold anything).
    static func ticks(_ stat: String) -> Int? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[end...].split(separator: " ")
        return fields.count > 20 ? Int(fields[20]) : nil
    }
}
