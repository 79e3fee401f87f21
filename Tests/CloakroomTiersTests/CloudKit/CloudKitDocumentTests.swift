import CloakroomCrypto
import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudKitDocumentTests {
    @Test func `stores documents by name, and replaces them`() async throws {
        let fixture = try CloudFixture()
        try await fixture.tier.putDocument(Data("one".utf8), named: "a.json")
        try await fixture.tier.putDocument(Data("another".utf8), named: "b")
        try await fixture.tier.putDocument(Data("two and more".utf8), named: "a.json")
        #expect(try await fixture.tier.document(named: "a.json") == Data("two and more".utf8))
        #expect(try await fixture.tier.document(named: "c") == nil)
        #expect(fixture.leftovers == [])
        let listing = try await fixture.tier.documents().documents
        #expect(listing.map(\.name) == ["a.json", "b"])
        #expect(listing.map(\.byteCount) == [12, 7])
        try await fixture.tier.deleteDocument(named: "a.json")
        try await fixture.tier.deleteDocument(named: "a.json")
        #expect(try await fixture.tier.documents().documents.map(\.name) == ["b"])
    }

    @Test func `asks only for what changed since the listing before`() async throws {
        let fixture = try CloudFixture()
        fixture.container.state.withLock { $0.pageSize = 3 }
        for number in 0..<7 { try await fixture.tier.putDocument(Data([1]), named: "\(number)") }
        #expect(try await fixture.tier.documents().documents.count == 7)
        #expect(fixture.container.requests(.changes).flatMap(\.names) == ["-", "3", "6"])
        fixture.container.forgetRequests()
        try await fixture.tier.putDocument(Data([1]), named: "7")
        try await fixture.tier.deleteDocument(named: "0")
        #expect(try await fixture.tier.documents().documents.map(\.name) == (1...7).map { "\($0)" })
        #expect(fixture.container.requests(.changes).flatMap(\.names) == ["7"])
    }

    @Test func `lists anew when the change token has expired`() async throws {
        let fixture = try CloudFixture()
        for number in 0..<3 { try await fixture.tier.putDocument(Data([1]), named: "\(number)") }
        _ = try await fixture.tier.documents()
        // One that was deleted so long ago that CloudKit does not tell it any more.
        fixture.container.state.withLock { $0.zones["_alice"]?["Test-documents"]?.records["document-1"] = nil }
        fixture.container.script(.changes, .fail(.changeTokenExpired))
        #expect(try await fixture.tier.documents().documents.map(\.name) == ["0", "2"])
    }

    @Test func `a listing that fails leaves nothing half known`() async throws {
        let fixture = try CloudFixture()
        for number in 0..<3 { try await fixture.tier.putDocument(Data([1]), named: "\(number)") }
        _ = try await fixture.tier.documents()
        fixture.container.script(.changes, .fail(.unreachable))
        #expect(await code { _ = try await fixture.tier.documents() } == .unreachable)
        #expect(try await fixture.tier.documents().documents.count == 3)
    }

    @Test func `dates are CloudKit's, and there are none before it has told one`() async throws {
        let fixture = try CloudFixture()
        #expect(try await fixture.tier.documents().date == nil)
        let saved = fixture.container.state.withLock { $0.now }
        try await fixture.tier.putDocument(Data([1]), named: "a")
        fixture.pass(90)
        let listing = try await fixture.tier.documents()
        #expect(listing.documents.first?.modified == saved)
        #expect(listing.date == saved.addingTimeInterval(90))
        // A response that took long does not set the time back.
        fixture.container.state.withLock { $0.now = saved.addingTimeInterval(30) }
        try await fixture.tier.putDocument(Data([1]), named: "b")
        #expect(try await fixture.tier.documents().date == saved.addingTimeInterval(90))
        let (_, photo) = try await fixture.stored("one")
        #expect(try await fixture.tier.verify(photo, file: nil)?.date == saved.addingTimeInterval(90))
    }

    @Test func `never gives a document with other bytes`() async throws {
        let fixture = try CloudFixture()
        try await fixture.tier.putDocument(Data("one".utf8), named: "a")
        fixture.container.edit("document-a", in: "Test-documents") { _, asset in asset = Data("two".utf8) }
        #expect(await code { _ = try await fixture.tier.document(named: "a") } == .checksumMismatch)
    }

    @Test(arguments: ["", ".a", "a/b", "ä", String(repeating: "a", count: 201)])
    func `refuses other names`(name: String) async throws {
        let fixture = try CloudFixture()
        #expect(await code { try await fixture.tier.putDocument(Data(), named: name) } == .invalidRequest)
        #expect(await code { _ = try await fixture.tier.document(named: name) } == .invalidRequest)
        #expect(await code { try await fixture.tier.deleteDocument(named: name) } == .invalidRequest)
        #expect(fixture.container.state.withLock { $0.requests } == [])
    }

    @Test func `keeps thumbnails as records of their own, many in a request`() async throws {
        let fixture = try CloudFixture()
        let photos = try (0..<300).map { try fixture.photo("photo \($0)").photo }
        #expect(try await fixture.tier.thumbnail(of: photos[0]) == nil)
        let (tier, container) = (fixture.tier, fixture.container)
        try await tier.putThumbnail(Data([0]), of: photos[0])
        container.forgetRequests()
        try await withThrowingTaskGroup { group in
            for (number, photo) in photos.enumerated() {
                group.addTask { try await tier.putThumbnail(Data([UInt8(number % 256)]), of: photo) }
            }
            try await group.waitForAll()
        }
        let requests = container.requests(.save)
        #expect(requests.allSatisfy { $0.names.count <= 400 })
        #expect(requests.count < 150)
        #expect(container.records().count == 300)
        #expect(try await tier.thumbnail(of: photos[299]) == Data([43]))
        try await tier.deleteThumbnail(of: photos[299])
        try await tier.deleteThumbnail(of: photos[299])
        #expect(try await tier.thumbnail(of: photos[299]) == nil)
        #expect(await code { try await tier.putThumbnail(Data(count: 1 << 20), of: photos[0]) } == .bodyTooLarge)
    }
}
