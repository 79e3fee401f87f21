package import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension RetentionClock.Reading {
    /// What this device's clocks show.
    ///
    /// - Parameter server: the server's time, where a response has had it in this process.
    package static func current(server: Date? = nil) -> Self {
        Self(
            wall: Milliseconds(Date()), continuous: continuousMilliseconds(), boot: bootSession,
            server: server.map { Milliseconds($0) })
    }

    private static func continuousMilliseconds() -> Milliseconds {
        var time = timespec()
        #if canImport(Darwin)
            // Of Apple's monotonic clocks the one that goes on while the device sleeps.
            clock_gettime(CLOCK_MONOTONIC, &time)
        #else
            clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return Milliseconds(time.tv_sec) * 1000 + Milliseconds(time.tv_nsec) / 1_000_000
    }

    /// The system's name for the time since the device has started.
    private static let bootSession: String? = {
        #if canImport(Darwin)
            var size = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, (1...128).contains(size) else {
                return nil
            }
            var name = [CChar](repeating: 0, count: size)
            guard sysctlbyname("kern.bootsessionuuid", &name, &size, nil, 0) == 0 else { return nil }
            return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
            guard let name = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8) else {
                return nil
            }
            return name.trimmingCharacters(in: .whitespacesAndNewlines)
        #endif
    }()
}
