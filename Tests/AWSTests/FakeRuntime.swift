import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Synchronization

/// Time that passes only when somebody sleeps, and dice that always show the same.
final class FakeRuntime: Sendable {
    private struct State {
        var elapsed = Duration.zero
        var sleeps: [Duration] = []
        var attempts: [Attempt] = []
        var tasks: [Task<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let wallStart: Date

    /// - Parameter time: what our clock shows; `2026-11-20T14:00:00Z`.
    init(time: Int = 1_795_183_200) { wallStart = Date(timeIntervalSince1970: Double(time)) }

    /// The longest delays that jitter allows.
    var runtime: RuntimeDependencies {
        RuntimeDependencies(
            wallClock: { self.wallStart.addingTimeInterval(Double(self.elapsed.components.seconds)) },
            now: { self.start.advanced(by: self.elapsed) },
            sleep: { duration in
                try Task.checkCancellation()
                self.state.withLock {
                    $0.elapsed += duration
                    $0.sleeps.append(duration)
                }
            },
            randomNumber: { .max },
            spawn: { body in
                let task = Task { await body() }
                self.state.withLock { $0.tasks.append(task) }
                return task
            })
    }

    /// Waits for what was started and nobody waited for.
    func settle() async {
        var awaited = 0
        while let task = state.withLock({ awaited < $0.tasks.count ? $0.tasks[awaited] : nil }) {
            await task.value
            awaited += 1
        }
    }

    var elapsed: Duration { state.withLock { $0.elapsed } }
    var sleeps: [Duration] { state.withLock { $0.sleeps } }
    var attempts: [Attempt] { state.withLock { $0.attempts } }

    func pass(_ duration: Duration) { state.withLock { $0.elapsed += duration } }

    func deadline(in duration: Duration = .seconds(15)) -> ContinuousClock.Instant {
        start.advanced(by: elapsed + duration)
    }

    var onAttempt: @Sendable (Attempt) -> Void {
        { attempt in self.state.withLock { $0.attempts.append(attempt) } }
    }
}

extension FakeRuntime {
    /// A client of the bucket `photos` that lives in this time and tells of its attempts.
    func s3(
        _ transport: any Transport, region: String = "eu-west-1", custom: String? = nil,
        credentials: CredentialSource = CredentialSource(
            Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
        renewal: RenewalSettings = .init(), retry: RetrySettings = .init()
    ) throws -> S3Client {
        S3Client(
            bucket: "photos", endpoint: try .s3(region: region, bucket: "photos", custom: custom),
            transport: transport, credentials: credentials, renewal: renewal, retry: retry, runtime: runtime,
            onAttempt: onAttempt)
    }
}
