import Foundation
import CloakroomSQLite
import Testing

@testable import CloakroomKit

@Suite struct SQLiteRecoveryJournalTests {
    static let date = Date(timeIntervalSince1970: 1_795_183_200)
    static let avatar = RenewableAsset.profileAvatar(
        url: URL(string: "https://cdn.example/a%20b.bin?x=%2F")!, conversationID: "c'1", inboxID: "i")
    static let steps: [RecoveryRecord.Step] = [
        .missing, .expired, .clearing,
        .uploading(
            UploadDestination(target: .numbered(1, expiration: date + 900.5), byteCount: 5 << 32, requestedAt: date)),
        .uploading(UploadDestination(target: .numbered(2, expiration: nil), byteCount: 0, requestedAt: date)),
        .uploaded(
            RecoveredObject(key: "new.bin", url: URL(string: "https://cdn.example/new.bin")!, storedAt: date)),
    ]

    private func withJournal(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("recoveries.sqlite"))
    }

    @Test(arguments: steps, [nil, RecoveryRecord.Refusal(code: .storageQuotaExceeded, until: date + 86_400)])
    func `a record is read as it was written, also after a restart`(
        step: RecoveryRecord.Step, refusal: RecoveryRecord.Refusal?
    ) async throws {
        try await withJournal { file in
            let record = RecoveryRecord(
                asset: Self.avatar, key: "a b.bin", since: Self.date, step: step, refusal: refusal)
            let journal = try SQLiteRecoveryJournal(at: file, owner: .test)
            try await journal.write(
                RecoveryRecord(asset: Self.avatar, key: "a b.bin", since: Self.date - 1, step: .expired))
            try await journal.write(record)
            #expect(try await journal.record(of: Self.avatar) == record)
            #expect(try await SQLiteRecoveryJournal(at: file, owner: .test).records() == [record])
        }
    }

    @Test func `records are told apart by all that an asset has`() async throws {
        try await withJournal { file in
            let url = URL(string: "https://cdn.example/a.bin")!
            let assets: [RenewableAsset] = [
                .profileAvatar(url: url, conversationID: "c", inboxID: "i"),
                .profileAvatar(url: url, conversationID: "c", inboxID: "j"),
                .profileAvatar(url: url, conversationID: "d", inboxID: "i"),
                .groupImage(url: url, conversationID: "c"),
                .groupImage(url: URL(string: "https://cdn.example/b.bin")!, conversationID: "c"),
                RenewableAsset(id: "c", url: url),
                RenewableAsset(id: "albums/'1'/é", url: url),
            ]
            let journal = try SQLiteRecoveryJournal(at: file, owner: .test)
            for (number, asset) in assets.enumerated() {
                let since = Self.date + Double(number)
                try await journal.write(RecoveryRecord(asset: asset, key: "a.bin", since: since, step: .missing))
            }
            try await journal.remove(assets[3])
            #expect(try await journal.records().map(\.asset) == Array(assets[0...2] + assets[4...]))
            #expect(try await journal.record(of: assets[3]) == nil)
        }
    }

    @Test func `only its user can read the file`() async throws {
        try await withJournal { file in
            let journal = try SQLiteRecoveryJournal(at: file, owner: .test)
            try await journal.write(RecoveryRecord(asset: Self.avatar, key: "a", since: Self.date, step: .expired))
            for path in [file.path, file.path + "-wal"] {
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
        }
    }

    @Test func `a damaged file is put aside, and a new journal begun`() async throws {
        try await withJournal { file in
            try Data(repeating: 7, count: 8192).write(to: file)
            let journal = try SQLiteRecoveryJournal(at: file, owner: .test, wallClock: { Self.date })
            #expect(try await journal.records() == [])
            let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
            #expect(names.contains { $0.hasPrefix("recoveries.sqlite.corrupt-") })
        }
    }

    @Test func `a full disk is reported as such, and what was there stays`() async throws {
        try await withJournal { file in
            let journal = try SQLiteRecoveryJournal(at: file, owner: .test, maximumPages: 8, wallClock: { Self.date })
            let first = RecoveryRecord(asset: .group("first"), key: "first.bin", since: Self.date, step: .missing)
            try await journal.write(first)
            let error = await #expect(throws: CloakroomError.self) {
                for number in 0..<1000 {
                    let key = String(repeating: "k", count: 1000)
                    let record = RecoveryRecord(
                        asset: .group("\(number)"), key: key, since: Self.date, step: .missing)
                    try await journal.write(record)
                }
            }
            #expect(error?.code == .diskFull)
            #expect(try await journal.record(of: .group("first")) == first)
        }
    }
}
