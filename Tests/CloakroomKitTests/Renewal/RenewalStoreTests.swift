import CloakroomAWS
import Foundation
import CloakroomSQLite
import Testing

@testable import CloakroomKit

@Suite struct RenewalStoreTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    private var file: URL { folder.appendingPathComponent("renewals.db") }
    private let date = Date(timeIntervalSince1970: 1_795_183_200.5)
    private let runtime = FakeRuntime().runtime

    private func withFolder(_ body: () async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body()
    }

    private var examples: [RenewalRecord] {
        [
            RenewalRecord(key: ""),
            RenewalRecord(key: "a", lastRenewed: date),
            RenewalRecord(key: "b", lastRenewed: date, expiration: date + 86_400),
        ]
            + RenewalFailure.Kind.allCases.map { kind in
                RenewalRecord(
                    key: kind.rawValue, lastRenewed: date,
                    failure: RenewalFailure(kind: kind, reason: "naïve", first: date, last: date + 1, count: 3))
            }
    }

    private func check(_ store: any RenewalStore) async throws {
        try await store.save(examples)
        let changed = RenewalRecord(key: "a", lastRenewed: date + 5)
        try await store.save([changed])
        try await store.remove(keys: ["b", "none"])
        try await store.savePauseEnd(date)
        try await store.savePauseEnd(date + 7)
        #expect(try await store.pauseEnd() == date + 7)
        let expected = examples.filter { !["a", "b"].contains($0.key) } + [changed]
        #expect(try await store.records().sorted { $0.key < $1.key } == expected.sorted { $0.key < $1.key })
    }

    @Test func `keeps records in memory`() async throws { try await check(InMemoryRenewalStore()) }

    @Test func `keeps records in a file, for the next launch, too`() async throws {
        try await withFolder {
            try await check(SQLiteRenewalStore(at: file, owner: .test))
            let again = try SQLiteRenewalStore(at: file, owner: .test)
            #expect(try await again.records().count == examples.count - 1)
            #expect(try await again.pauseEnd() == date + 7)
            try await again.savePauseEnd(nil)
            #expect(try await again.pauseEnd() == nil)
            #expect(await again.movedAside == [])
        }
    }

    @Test func `what could not be recorded counts when old keys are looked for`() async throws {
        let store = FailingRenewalStore()
        let ledger = RenewalLedger(store: store)
        let (old, new) = (AssetKey("old"), AssetKey("new"))
        try await ledger.save([old, new].map { RenewalRecord(key: $0.text, lastRenewed: date) })
        await store.fail(CloakroomError(.diskFull, "full"))
        let later = [
            RenewalRecord(key: "old", lastRenewed: date + 1), RenewalRecord(key: "new", lastRenewed: date + 10),
        ]
        await #expect(throws: CloakroomError.self) { try await ledger.save(later) }
        #expect(try await Set(ledger.keys(notHeardSince: date + 5).map(\.text)) == ["old"])
    }

    @Test func `keys that look alike are two, in memory and in a file`() async throws {
        try await withFolder {
            for store in [InMemoryRenewalStore(), try SQLiteRenewalStore(at: file, owner: .test)] as [any RenewalStore]
            {
                try await store.save([RenewalRecord(key: "\u{e9}"), RenewalRecord(key: "e\u{301}")])
                #expect(try await store.records().count == 2)
                try await store.remove(keys: ["\u{e9}"])
                #expect(try await store.records().map { Array($0.key.utf8) } == [[0x65, 0xcc, 0x81]])
            }
        }
    }

    @Test func `a damaged file is moved aside`() async throws {
        try await withFolder {
            try Data(repeating: 7, count: 5_000).write(to: file)
            let store = try SQLiteRenewalStore(at: file, owner: .test, runtime: runtime)
            try await check(store)
            #expect(await store.movedAside.map(\.lastPathComponent) == ["renewals.db.corrupt-20261120T140000Z"])
        }
    }

    @Test func `a file that is damaged while it is open is moved aside`() async throws {
        try await withFolder {
            let store = try SQLiteRenewalStore(at: file, owner: .test, runtime: runtime)
            let other = try SQLiteDatabase(at: file.path)
            // A page of the schema points nowhere.
            try other.run(
                script: """
                    PRAGMA writable_schema = 1;
                    UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'renewals';
                    PRAGMA schema_version = 1000
                    """)
            other.close()
            #expect(try await store.records() == [])
            try await check(store)
            #expect(await store.movedAside.map(\.lastPathComponent) == ["renewals.db.corrupt-20261120T140000Z"])
        }
    }

    @Test func `a folder that is not there is an error with a code`() throws {
        #expect(
            throws: CloakroomError(
                .storeFailed, "the records of renewals: unable to open database file (SQLite 14)")
        ) { try SQLiteRenewalStore(at: folder.appendingPathComponent("none/a.db"), owner: .test) }
    }
}
