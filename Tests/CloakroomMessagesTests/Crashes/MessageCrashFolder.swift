import CloakroomAWS
import CloakroomKit
import CloakroomKitTestSupport
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// A device as files, with the program `message-crash` as its app.
struct MessageCrashFolder {
    private static let program = MortalProgram("message-crash", variable: "CLOAKROOM_MESSAGE_CRASH")

    let url: URL
    static let begin: Int64 = 1_800_000_100

    /// Removed afterwards.
    static func with<Result>(_ body: (Self) async throws -> Result) async throws -> Result {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "message-crash-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try await body(Self(url: url))
    }

    /// The same folder as it is now, removed afterwards.
    func withCopy<Result>(_ body: (Self) async throws -> Result) async throws -> Result {
        let copy = url.deletingLastPathComponent().appendingPathComponent(
            "message-crash-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.copyItem(at: url, to: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        return try await body(Self(url: copy))
    }

    /// One launch of the app.
    ///
    /// - Parameters:
    ///   - point: counts from 1; 0 is never reached.
    ///   - seconds: since the begin.
    @discardableResult
    func launch(
        _ scenario: String, killedAt point: Int = 0, after seconds: Int64
    ) async throws -> MortalProgram.End {
        try await Self.program.run([scenario, url.path, String(point), String(Self.begin + seconds)])
    }

    var messages: URL { url.appendingPathComponent("messages", isDirectory: true) }

    /// What handlers were told of.
    var handled: Set<String> {
        let text = (try? String(contentsOf: url.appendingPathComponent("handled.txt"), encoding: .utf8)) ?? ""
        return Set(text.split(separator: "\n").map(String.init))
    }

    /// Opens the storage in this process.
    func open(after seconds: Int64) async throws -> (SQLiteMessageStorage, MessageRetention) {
        let now = (Self.begin + seconds) * 1000
        let reading = RetentionClock.Reading(wall: now, continuous: now, boot: "boot", server: now)
        let storage = try await SQLiteMessageStorage(
            folder: messages, vault: FileKeyVault(folder: url.appendingPathComponent("vault", isDirectory: true)),
            reading: reading, step: { _ in })
        return (storage, try await MessageRetention(of: RetentionFixture.own, storage: storage, read: { reading }))
    }

    /// Sealed bodies, as they lie in the database.
    func sealedBodies() throws -> [SealedBody] { try SealedBody.all(in: messages) }
}
