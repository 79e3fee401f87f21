package import CloakroomLoop

/// Where tasks on the loop wait until the test lets them go.
@LoopActor
package final class Barrier {
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    private var isOpen = false

    package init() {}

    package func wait() async {
        guard !isOpen else { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            for watcher in watchers where watcher.count <= waiting.count { watcher.continuation.resume() }
            watchers.removeAll { $0.count <= waiting.count }
        }
    }

    /// Returns when so many tasks wait here.
    package func gathers(_ count: Int) async {
        guard waiting.count < count else { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    package func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
