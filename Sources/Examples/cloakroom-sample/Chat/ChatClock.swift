import CloakroomAWS
import CloakroomKit
import CloakroomMessages
import Foundation
import Synchronization

/// The clocks of this machine and the server's, all ahead by what the chat says has passed.
///
/// An app has nothing of the kind: it opens ``SQLiteMessageStorage`` and ``MessageRetention`` as the library's articles
/// show.
final class ChatClock: Sendable {
    private let passed: Mutex<Int>
    private let client: CloakroomClient?

    init(passed: Int, client: CloakroomClient?) {
        self.passed = Mutex(passed)
        self.client = client
    }

    func pass(_ seconds: Int) { passed.withLock { $0 += seconds } }

    private var seconds: Int { passed.withLock { $0 } }

    private var reading: RetentionClock.Reading {
        get async {
            var reading = RetentionClock.Reading.current(server: await client?.serverClock.current)
            let ahead = Int64(seconds) * 1000
            reading.wall += ahead
            reading.continuous += ahead
            reading.server? += ahead
            return reading
        }
    }

    func open(_ folder: URL, vault: URL, of participant: ParticipantID) async throws -> MessageRetention {
        let storage = try await SQLiteMessageStorage(
            folder: folder, vault: FileKeyVault(folder: vault), reading: await reading, step: { _ in })
        let runtime = RuntimeDependencies(
            wallClock: { Date().addingTimeInterval(Double(self.seconds)) },
            now: { ContinuousClock.now + .seconds(self.seconds) })
        return try await MessageRetention(
            of: participant, storage: storage, releaser: client, runtime: runtime,
            timeCorrections: client?.serverClock.corrections, read: { await self.reading })
    }
}
