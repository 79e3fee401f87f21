import Foundation
import SQLite
import Testing

@testable import CloakroomKit

@Suite struct RecordsFileTests {
    private static let kind = RecordsFile.Kind(
        name: "the records of tests", migrations: ["CREATE TABLE t (x INTEGER)"], maximumPages: 8)

    private static func opened(in folder: URL) throws -> RecordsFile {
        try RecordsFile(
            kind, at: folder.appendingPathComponent("records.sqlite"),
            wallClock: { Date(timeIntervalSince1970: 1_795_183_200) })
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

    @Test func `a second damage is told, in the kit's words`() throws {
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
