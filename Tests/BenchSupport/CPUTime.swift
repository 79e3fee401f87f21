#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

/// The time that processors spent on something, which other programs do not change.
package enum CPUTime {
    /// Of all threads of this process so far, in user land and in the kernel.
    package static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Of this process while `work` runs, in milliseconds.
    package static func milliseconds(_ work: () async throws -> Void) async rethrows -> Double {
        let before = now
        try await work()
        return (now - before) / .milliseconds(1)
    }
}

extension [Double] {
    /// The middle one, or the mean of the two in the middle; 0 of none.
    package var median: Double {
        guard !isEmpty else { return 0 }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
