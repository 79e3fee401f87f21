import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CloakroomKit

/// What blocks runs elsewhere than on the caller's actor, such as a view's.
@Suite struct CallerExecutorTests {
    private let client = S3BackupClient.over(FakeS3(), FakeRuntime())

    @Test func `a folder is read off the caller's actor`() async throws {
        let missing = URL(fileURLWithPath: "/dev/null/missing")
        let caller = Caller()
        let layout = try PhotoLayout(userID: "u_1")
        let backup = await caller.backUp(missing, by: PhotoBackup(client: client, layout: layout))
        #expect(backup.report.stoppedBy?.code == .unreadableFile)
        #expect(backup.returns == 1)
        // From the reading of the files' metadata; the other two are the run's.
        let listed = await caller.backUp([missing], by: PhotoBackup(client: client, layout: layout))
        #expect(listed.report.failures.map(\.error.code) == [.unreadableFile])
        #expect(listed.returns == 3)
        let restore = await caller.restore(to: missing, by: PhotoRestore(client: client, layout: layout))
        #expect(restore.report.stoppedBy?.code == .unwritableFile)
        #expect(restore.returns == 1)
    }
}

/// An actor with an executor of its own, that counts how often a call returns to it after it was left.
private actor Caller {
    private let executor = CountingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func backUp(_ folder: URL, by backup: PhotoBackup) async -> (report: BackupReport, returns: Int) {
        let before = executor.jobCount
        let report = await backup.backUp(folder: folder)
        return (report, executor.jobCount - before)
    }

    func backUp(_ files: [URL], by backup: PhotoBackup) async -> (report: BackupReport, returns: Int) {
        let before = executor.jobCount
        let report = await backup.backUp(files)
        return (report, executor.jobCount - before)
    }

    func restore(to folder: URL, by restore: PhotoRestore) async -> (report: RestoreReport, returns: Int) {
        let before = executor.jobCount
        let report = await restore.restore(to: folder)
        return (report, executor.jobCount - before)
    }
}

private final class CountingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "caller")
    private let jobs = Mutex(0)

    var jobCount: Int { jobs.withLock { $0 } }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.withLock { $0 += 1 }
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
