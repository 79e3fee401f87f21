import CloakroomCCurl
import CloakroomKit
import CloakroomLibcurl
import Foundation

/// The thread of a transport, and all that libcurl does on it.
@safe final class CurlThread: @unchecked Sendable {
    // `commands` and `isOver` are under `lock`, and so is every wake-up, for `multi` goes when it is over; what is below
    // them is the thread's alone.
    private let lock = NSLock()
    private var commands: [Command] = []
    private var isOver = false
    private let multi: CurlMulti

    private var running: [UInt: Running] = [:]
    private var idle: [CurlEasyHandle] = []
    private var isStopping = false
    /// Nothing that runs ends by the clock before.
    private var nextEnd: ContinuousClock.Instant?
    private let maximumIdle: Int
    private let certificateAuthorities: String?

    typealias Waiter = CheckedContinuation<Result<HTTPResponse, HTTPTransportError>, Never>

    private enum Command {
        case start(CurlTask, Waiter)
        case cancel(CurlTask)
        case stop
    }

    private struct Running {
        let task: CurlTask
        let handle: CurlEasyHandle
        let waiter: Waiter
    }

    init(maximumConnectionsPerHost: Int, certificateAuthorities: String?) {
        multi = CurlMulti(keptConnections: maximumConnectionsPerHost)
        maximumIdle = maximumConnectionsPerHost
        self.certificateAuthorities = certificateAuthorities
        multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, maximumConnectionsPerHost)
    }

    func start() { Thread.detachNewThread { self.run() } }

    // MARK: From any thread

    func start(_ task: CurlTask, waiter: Waiter) {
        if !enqueue(.start(task, waiter)) { waiter.resume(returning: .failure(.cancelled)) }
    }

    func cancel(_ task: CurlTask) {
        task.cancel()
        _ = enqueue(.cancel(task))
    }

    func stop() { _ = enqueue(.stop) }

    private func enqueue(_ command: Command) -> Bool {
        lock.withLock {
            guard !isOver else { return false }
            commands.append(command)
            unsafe curl_multi_wakeup(multi.pointer)
            return true
        }
    }

    // MARK: On the thread

    private func run() {
        blockBrokenPipes()
        while true {
            for command in takeCommands() { execute(command) }
            guard !isStopping else { return close() }
            // A waiting request is queued again when a transfer ends. libcurl 7.88 may forget the timer by
            // which it would be run, so that nothing would until something else happens: a second pass does.
            while act() {}
            failTimedOut()
            var count: Int32 = 0
            unsafe multi.check(curl_multi_poll(multi.pointer, nil, 0, longestWait, &count))
        }
    }

    /// TLS writes without `MSG_NOSIGNAL`; the signal stays pending here, and `write` says what was wrong.
    private func blockBrokenPipes() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func takeCommands() -> [Command] {
        lock.withLock {
            defer { commands = [] }
            return commands
        }
    }

    private func execute(_ command: Command) {
        switch command {
        case .start(let task, let waiter): begin(task, waiter)
        case .cancel(let task):
            guard let (id, _) = running.first(where: { $0.value.task === task }) else { return }
            finish(id, .failure(.cancelled))
        case .stop: isStopping = true
        }
    }

    private func begin(_ task: CurlTask, _ waiter: Waiter) {
        guard !isStopping, !task.isCancelled else { return waiter.resume(returning: .failure(.cancelled)) }
        let handle =
            idle.popLast() ?? CurlEasyHandle(bufferBytes: 64 << 10, certificateAuthorities: certificateAuthorities)
        guard task.prepare(handle) else {
            idle.append(handle)
            return waiter.resume(returning: .failure(.invalidRequest))
        }
        running[handle.id] = Running(task: task, handle: handle, waiter: waiter)
        nextEnd = min(nextEnd ?? task.end, task.end)
        multi.add(handle)
    }

    /// - Returns: whether a transfer has ended.
    private func act() -> Bool {
        var hasEnded = false
        var count: Int32 = 0
        let code = unsafe curl_multi_perform(multi.pointer, &count)
        while let (easy, code) = unsafe multi.nextEnded() {
            let id = UInt(bitPattern: easy)
            hasEnded = true
            if let task = running[id]?.task { finish(id, task.result(code)) }
        }
        // Want of memory: what runs would never end.
        if code != CURLM_OK { finishAll(.interrupted) }
        return hasEnded
    }

    private func failTimedOut() {
        let now = ContinuousClock.now
        guard let nextEnd, nextEnd <= now else { return }
        for (id, running) in running where running.task.end <= now { finish(id, .failure(.timedOut)) }
        self.nextEnd = running.values.map(\.task.end).min()
    }

    /// In milliseconds. A minute when nothing runs; libcurl's own timers may end it before.
    private var longestWait: Int32 {
        guard let nextEnd else { return 60_000 }
        let left = ContinuousClock.now.duration(to: nextEnd) / .milliseconds(1)
        return Int32(min(60_000, max(0, left.rounded(.up))))
    }

    private func finish(_ id: UInt, _ result: Result<HTTPResponse, HTTPTransportError>) {
        guard let ended = running.removeValue(forKey: id) else { return }
        multi.remove(ended.handle)
        if ended.handle.reset(), idle.count < maximumIdle { idle.append(ended.handle) }
        ended.waiter.resume(returning: result)
    }

    private func finishAll(_ error: HTTPTransportError) {
        for id in Array(running.keys) { finish(id, .failure(error)) }
    }

    private func close() {
        finishAll(.cancelled)
        idle = []
        let late = lock.withLock {
            isOver = true
            return commands
        }
        multi.cleanUp()
        for case .start(_, let waiter) in late { waiter.resume(returning: .failure(.cancelled)) }
    }
}
