import Foundation
import CloakroomSQLite
import Testing

@testable import CloakroomKit

@Suite struct RecordsFileTests {
    private static let kind = RecordsFile.Kind(
        name: "the records of tests", migrations: ["CREATE TABLE t (x INTEGER)", RecordsFile.ownerTable],
        tables: ["t"], maximumPages: 8)

    private static func opened(
        in folder: URL, owner: StoreOwner = .test, unnamedRecords: UnnamedRecords = .setAside
    ) throws -> RecordsFile {
        try RecordsFile(
            kind, at: folder.appendingPathComponent("records.sqlite"), owner: owner, unnamedRecords: unnamedRecords,
            wallClock: { Date(timeIntervalSince1970: 1_795_183_200) })
    }

    private static func rows(_ file: inout RecordsFile) throws -> [Int64] {
        try file.perform { database throws(SQLiteError) in
            try database.rows("SELECT x FROM t") { row in row.integer(0) }
        }
    }

    @Test func `what is done on a file that was damaged meanwhile is done on a new one`() throws {
        let folder = try TemporaryFolder()
        var file = try Self.opened(in: folder.url)
        var tries = 0
        let rows = try file.perform { database throws(SQLiteError) -> [Int64] in
            tries += 1
            if tries == 1 { throw .corrupt }
            try database.run("INSERT INTO t VALUES (7)")
            return try database.rows("SELECT x FROM t") { row in row.integer(0) }
        }
        #expect(rows == [7])
        #expect(file.movedAside.map(\.lastPathComponent) == ["records.sqlite.corrupt-20261120T140000Z"])
    }

    @Test func `a damaged file that could not be moved aside once is retried by the next call`() throws {
        let folder = try TemporaryFolder()
        var file = try Self.opened(in: folder.url)
        // A folder that is not empty is in the way of the new name.
        let obstacle = folder.url.appendingPathComponent("records.sqlite.corrupt-20261120T140000Z")
        try folder.write("\(obstacle.lastPathComponent)/x", "x")
        let error = #expect(throws: CloakroomError.self) {
            try file.perform { _ throws(SQLiteError) in throw .corrupt }
        }
        #expect(error?.code == .storeFailed)
        try file.perform { database throws(SQLiteError) in try database.run("INSERT INTO t VALUES (7)") }
        #expect(try Self.rows(&file) == [7])
        #expect(file.movedAside == [])
        try FileManager.default.removeItem(at: obstacle)
        var tries = 0
        try file.perform { _ throws(SQLiteError) in
            tries += 1
            if tries == 1 { throw .corrupt }
        }
        #expect(try Self.rows(&file) == [])
        #expect(file.movedAside.map(\.lastPathComponent) == [obstacle.lastPathComponent])
    }

    @Test(arguments: [
        StoreOwner.next, StoreOwner(user: "u_1", endpoint: URL(string: "https://staging.example")!),
        StoreOwner(user: "U_1", endpoint: URL(string: "https://api.example")!),
    ])
    func `another owner's file is refused, and stays as it is`(other: StoreOwner) throws {
        let folder = try TemporaryFolder()
        do {
            var file = try Self.opened(in: folder.url)
            try file.perform { database throws(SQLiteError) in try database.run("INSERT INTO t VALUES (7)") }
        }
        for unnamedRecords in [UnnamedRecords.setAside, .adopt] {
            let error = #expect(throws: CloakroomError.self) {
                try Self.opened(in: folder.url, owner: other, unnamedRecords: unnamedRecords)
            }
            #expect(error?.code == .storeOwnerMismatch)
        }
        var file = try Self.opened(in: folder.url)
        #expect(try Self.rows(&file) == [7])
        #expect(file.movedAside == [])
    }

    @Test(arguments: ["HTTPS://API.example:443", "https://api.example/", "https://api.example//?x#y"])
    func `an endpoint is one however it is spelled`(spelling: String) throws {
        let endpoint = try #require(URL(string: spelling))
        #expect(StoreOwner(user: "u_1", endpoint: endpoint) == .test)
    }

    @Test func `two owners are two, also when both names together are the same`() throws {
        let endpoint = try #require(URL(string: "https://api.example/a"))
        let owners = ["\u{e9}", "e\u{301}", "é/a", "1:é"].map { StoreOwner(user: $0, endpoint: endpoint) }
        #expect(Set(owners).count == 4)
        #expect(Set(owners.map(\.bytes)).count == 4)
    }

    @Test(arguments: [(UnnamedRecords.setAside, [Int64]()), (.adopt, [7])])
    func `records that name no owner are set aside, or adopted by an app that says so`(
        unnamedRecords: UnnamedRecords, expected: [Int64]
    ) throws {
        let folder = try TemporaryFolder()
        let place = folder.url.appendingPathComponent("records.sqlite")
        let old = try SQLiteDatabase(at: place.path, migrations: [Self.kind.migrations[0]])
        try old.run("INSERT INTO t VALUES (7)")
        old.close()
        var file = try Self.opened(in: folder.url, unnamedRecords: unnamedRecords)
        #expect(try Self.rows(&file) == expected)
        let aside = unnamedRecords == .setAside ? ["records.sqlite.unnamed-20261120T140000Z"] : []
        #expect(file.movedAside.map(\.lastPathComponent) == aside)
        for url in file.movedAside {
            #expect(try SQLiteDatabase(at: url.path).rows("SELECT x FROM t") { $0.integer(0) } == [7])
        }
        // From now on it is named.
        let error = #expect(throws: CloakroomError.self) { try Self.opened(in: folder.url, owner: .next) }
        #expect(error?.code == .storeOwnerMismatch)
    }

    @Test func `an empty file that names no owner is taken`() throws {
        let folder = try TemporaryFolder()
        let place = folder.url.appendingPathComponent("records.sqlite")
        try SQLiteDatabase(at: place.path, migrations: [Self.kind.migrations[0]]).close()
        #expect(try Self.opened(in: folder.url).movedAside == [])
    }

    @Test func `a new file in place of a damaged one names its owner, too`() throws {
        let folder = try TemporaryFolder()
        var file = try Self.opened(in: folder.url)
        var tries = 0
        try file.perform { _ throws(SQLiteError) in
            tries += 1
            if tries == 1 { throw .corrupt }
        }
        let error = #expect(throws: CloakroomError.self) { try Self.opened(in: folder.url, owner: .next) }
        #expect(error?.code == .storeOwnerMismatch)
    }

    @Test func `every kind of file names its owner`() throws {
        let folder = try TemporaryFolder()
        func open(_ owner: StoreOwner) -> [CloakroomError.Code?] {
            [
                { _ = try SQLiteRecoveryJournal(at: folder.url.appendingPathComponent("a"), owner: owner) },
                { _ = try SQLiteRenewalStore(at: folder.url.appendingPathComponent("b"), owner: owner) },
                { _ = try SQLiteMultipartJournal(at: folder.url.appendingPathComponent("c"), owner: owner) },
                { _ = try PhotoIndex(at: folder.url.appendingPathComponent("d"), owner: owner) },
            ].map { (open: () throws -> Void) in
                do { try open() } catch { return (error as? CloakroomError)?.code }
                return nil
            }
        }
        #expect(open(.test) == [nil, nil, nil, nil])
        #expect(open(.next) == Array(repeating: .storeOwnerMismatch, count: 4))
    }

    @Test(arguments: [true, false])
    func `a symbolic link in the file's place is not followed`(isDangling: Bool) throws {
        let folder = try TemporaryFolder()
        let elsewhere = folder.url.appendingPathComponent("elsewhere")
        if !isDangling { try SQLiteDatabase(at: elsewhere.path, migrations: Self.kind.migrations).close() }
        let bytes = FileManager.default.contents(atPath: elsewhere.path)
        try FileManager.default.createSymbolicLink(
            at: folder.url.appendingPathComponent("records.sqlite"), withDestinationURL: elsewhere)
        let error = #expect(throws: CloakroomError.self) { try Self.opened(in: folder.url) }
        #expect(error?.code == .storeFailed)
        #expect(FileManager.default.contents(atPath: elsewhere.path) == bytes)
    }

    @Test func `a folder may be reached through a symbolic link`() throws {
        let folder = try TemporaryFolder()
        try folder.write("real/x", "x")
        let link = folder.url.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: folder.url.appendingPathComponent("real"))
        var file = try Self.opened(in: link)
        #expect(try Self.rows(&file) == [])
    }

    @Test func `a second damage is reported, in the kit's words`() throws {
        let folder = try TemporaryFolder()
        var file = try Self.opened(in: folder.url)
        let error = #expect(throws: CloakroomError.self) {
            try file.perform { _ throws(SQLiteError) in throw .corrupt }
        }
        #expect(error == CloakroomError(.storeFailed, "the records of tests are damaged"))
    }

    @Test func `a file takes no more pages than it may`() throws {
        let folder = try TemporaryFolder()
        var file = try Self.opened(in: folder.url)
        let error = #expect(throws: CloakroomError.self) {
            try file.perform { database throws(SQLiteError) in
                for number in 0..<Int64(100_000) { try database.run("INSERT INTO t VALUES (?)", [.integer(number)]) }
            }
        }
        #expect(error == CloakroomError(.diskFull, "no space is left for the records of tests"))
    }
}
