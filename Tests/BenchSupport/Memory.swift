import Foundation

/// What this process has in memory, in MB of 10^6 bytes.
package enum Memory {
    /// The most that was resident, since ``resetPeak()`` or the beginning.
    package static func peakMegabytes() throws -> Double { try megabytes("VmHWM:") }

    package static func residentMegabytes() throws -> Double { try megabytes("VmRSS:") }

    /// Source: proc(5), `/proc/[pid]/clear_refs`.
    package static func resetPeak() throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "/proc/self/clear_refs"))
        try file.write(contentsOf: Data("5".utf8))
        try file.close()
    }

    private static func megabytes(_ name: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
        else { throw BenchError("the system does not say what is resident") }
        return kilobytes * 1024 / 1e6
    }
}
