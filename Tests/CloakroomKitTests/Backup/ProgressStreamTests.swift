import Foundation
import Testing

@testable import CloakroomKit

/// When the sequences of progress end; one that does not end is waited for until the time limit.
@Suite(.timeLimit(.minutes(1))) struct ProgressStreamTests {
    @Test func `a sequence ends when its transfer fails`() async throws {
        let bench = try BackupBench()
        let file = try bench.file("f", numbered(25))
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"))
        let values = await Self.values { observer in
            let code = await bench.code { try await bench.client().put(file: file, to: "k", progress: observer) }
            #expect(code == .accessDenied)
        }
        for await value in values { #expect(value.bytesDone < value.bytesTotal) }
    }

    /// - Returns: a sequence whose observer `transfer` alone has.
    private static func values(
        _ transfer: (@escaping TransferProgress.Observer) async -> Void
    ) async -> AsyncStream<TransferProgress> {
        let (values, observer) = TransferProgress.stream()
        await transfer(observer)
        return values
    }

    @Test func `a transfer's sequence ends with the last byte, and a backup's with the last file`() async {
        let (bytes, transferred) = TransferProgress.stream()
        transferred(TransferProgress(bytesDone: 5, bytesTotal: 5))
        for await value in bytes { #expect(value.fraction == 1) }

        let (files, backedUp) = BackupProgress.stream()
        var progress = BackupProgress(filesTotal: 1, bytesTotal: 5)
        progress.filesDone = 1
        backedUp(progress)
        for await value in files { #expect(value == progress) }
        // Held until here.
        withExtendedLifetime((transferred, backedUp)) {}
    }
}
