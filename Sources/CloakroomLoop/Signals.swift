import CloakroomCLinux

/// Signals as events of the loop (`signalfd(2)`).
@LoopActor
package final class Signals {
    private let descriptor: Descriptor

    /// Blocks the signals for this thread and those it starts; call it before any thread exists.
    package nonisolated static func block(_ signals: [Int32]) {
        var set = self.set(of: signals)
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// - Parameter handler: called once a signal; several of one kind may have merged.
    package init(_ signals: [Int32], _ handler: @escaping @LoopActor (Int32) -> Void) throws(SystemError) {
        var set = Self.set(of: signals)
        descriptor = try Descriptor(checking: unsafe signalfd(-1, &set, Int32(SFD_NONBLOCK | SFD_CLOEXEC)))
        let raw = descriptor.raw
        EventPoller.shared.watch(raw, for: .readable) { _ in
            while let signal = Self.next(from: raw) { handler(signal) }
        }
    }

    private static func next(from descriptor: Int32) -> Int32? {
        var information = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard unsafe read(descriptor, &information, size) == size else { return nil }
        return Int32(information.ssi_signo)
    }

    private nonisolated static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        return set
    }
}
