import Foundation
import Testing

@testable import CloakroomKit

struct MultipartJournalTests {
    private let bench: BackupBench

    init() throws { bench = try BackupBench() }

    private func upload(_ key: String, _ id: String) -> MultipartUpload {
        MultipartUpload(
            bucket: "photos", key: key, uploadID: id, partSize: 5 << 20,
            file: FileVersion(byteCount: 1 << 40, modified: 1_795_183_200_123_456_789))
    }

    @Test func `keeps uploads for the next run`() async throws {
        let file = bench.folder.appendingPathComponent("uploads.sqlite")
        let first = try SQLiteMultipartJournal(at: file, owner: .test)
        try await first.save(upload("a", "1"))
        try await first.save(upload("a", "2"))
        try await first.save(upload("b", "3"))
        let second = try SQLiteMultipartJournal(at: file, owner: .test)
        #expect(try await second.uploads() == [upload("a", "2"), upload("b", "3")])
        #expect(try await second.upload(of: "a", in: "photos") == upload("a", "2"))
        #expect(try await second.upload(of: "a", in: "others") == nil)
        // Not the one that came after it.
        try await second.remove(upload("a", "1"))
        try await second.remove(upload("b", "3"))
        #expect(try await second.uploads() == [upload("a", "2")])
    }

    @Test func `begins anew when it is damaged`() async throws {
        let file = try bench.file("uploads.sqlite", Data(repeating: 7, count: 8192))
        let journal = try SQLiteMultipartJournal(at: file, owner: .test)
        #expect(try await journal.uploads().isEmpty)
    }
}
