import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct SharedDocumentTests {
    private let entry = SnapshotEntry(
        names: ["a \"b\"\n", "ü"], sha256: TestPhoto(1).sha256, md5: TestPhoto(1).md5, byteCount: 7, format: "heic",
        takenAt: -5, addedAt: 1_800_000_000_123, isPinned: true)

    @Test func `a snapshot is read as it was written`() throws {
        var unread = entry
        (unread.names, unread.sha256, unread.isPinned) = ([], nil, false)
        let document = SnapshotDocument(entries: [entry, unread], removed: [TestPhoto(2).sha256, TestPhoto(3).md5])
        #expect(try SnapshotDocument(try document.encoded(), named: "x") == document)
    }

    private func isRefused(_ bytes: Data) -> Bool {
        do {
            _ = try SnapshotDocument(bytes, named: "x")
            return false
        } catch { return error.code == .storeFailed }
    }

    @Test(arguments: [
        "", "{", "[]", "null", #"{"version":1}"#, #"{"entries":[]}"#, #"{"version":1,"entries":[]}"#,
        #"{"version":1,"sha256":"","content":{"entries":[]}}"#,
    ])
    func `a document that cannot be read is an error and not an empty one`(text: String) {
        #expect(isRefused(Data(text.utf8)))
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"entries":{}}"#, #"{"entries":[{}]}"#, #"{"entries":[],"removed":["00"]}"#,
        #"{"entries":[{"md5":"00","byteCount":1,"format":"jpg","takenAt":1,"addedAt":1}]}"#,
    ])
    func `a content that no device writes is an error`(text: String) {
        #expect(isRefused(SealedDocument.bytes(of: Data(text.utf8))))
    }

    @Test(arguments: [0, 2, 10]) func `a document of another version says so`(version: Int) throws {
        let text = String(decoding: try SnapshotDocument(entries: [entry]).encoded(), as: UTF8.self)
        let other = Data(text.replacingOccurrences(of: "\"version\":1", with: "\"version\":\(version)").utf8)
        #expect { try SnapshotDocument(other, named: "x") } throws: {
            ($0 as? CloakroomError)?.message.contains("another version of the app (\(version))") == true
        }
    }

    @Test func `a document is an error with any of its bits changed, and with bytes too few or too many`() throws {
        let document = SnapshotDocument(entries: [entry], removed: [TestPhoto(2).sha256])
        let bytes = try document.encoded()
        #expect(try SnapshotDocument(bytes, named: "x") == document)
        var accepted: [Int] = []
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                if !isRefused(changed) { accepted.append(place) }
            }
        }
        #expect(accepted.isEmpty)
        #expect(isRefused(bytes.dropLast()))
        #expect(isRefused(bytes.dropFirst()))
        #expect(isRefused(bytes + Data("}".utf8)))
        #expect(try SnapshotDocument((Data([0]) + bytes).dropFirst(), named: "x") == document)
    }

    @Test(arguments: [
        ("\"byteCount\":7", "\"byteCount\":-7"), ("\"format\":\"heic\"", "\"format\":\"../../x\""),
        ("\"format\":\"heic\"", "\"format\":\"\""), ("\"takenAt\":-5", "\"takenAt\":9223372036854775807"),
        ("\"takenAt\":-5", "\"takenAt\":1e400"), ("\"pinned\":true", "\"pinned\":1.5"),
    ])
    func `an entry with a value that no device writes is an error`(good: String, bad: String) throws {
        let written = try SnapshotDocument(entries: [entry]).encoded()
        let text = String(decoding: try SealedDocument.content(of: written, named: "x"), as: UTF8.self)
        let changed = text.replacingOccurrences(of: good, with: bad)
        #expect(changed != text)
        #expect(isRefused(SealedDocument.bytes(of: Data(changed.utf8))))
    }

    @Test func `a document larger than any of ours is refused before it is decoded`() {
        let nested = Data(repeating: UInt8(ascii: "["), count: SharedDocumentRules.maximumBytes + 1)
        #expect(throws: CloakroomError.self) { try SnapshotDocument(nested, named: "x") }
        #expect(throws: CloakroomError.self) { try SnapshotDocument(nested.prefix(4 << 20), named: "x") }
    }

    @Test func `names say what a document is, and those of others are ignored`() throws {
        let device = try #require(DeviceID(rawValue: "a1"))
        for name in [
            DeviceDocumentName.snapshot(device, sequence: 42), .intent(device, "ff"), .dismissed(device),
        ] {
            #expect(DeviceDocumentName(name.text) == name)
        }
        #expect(DeviceDocumentName.snapshot(device, sequence: 42).text == "snapshot-a1-000000000000042.json")
        for name in [
            "", "2026.json", "snapshot-a1-42.json", "snapshot-a1-00000000000004x.json",
            "snapshot-a_1-000000000000042.json",
            "intent-a1.json", "dismissed-.json", "dismissed-a1-b.json", "dismissed-a1.txt",
        ] {
            #expect(DeviceDocumentName(name) == nil, "\(name)")
        }
    }
}
