import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudKitZoneTests {
    @Test func `makes its zones when there never were any, with the first thing that is stored`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try fixture.photo("one")
        #expect(await fixture.tier.availability() == TierAvailability())
        #expect(try await fixture.tier.verify(photo, file: file) == nil)
        #expect(try await fixture.tier.documents().documents == [])
        var count = 0
        for try await _ in fixture.tier.list() { count += 1 }
        #expect(count == 0)
        try await fixture.tier.delete(photo)
        #expect(fixture.container.zones() == [])
        try await fixture.tier.put(file, photo, progress: nil)
        #expect(fixture.container.zones() == ["Test"])
        try await fixture.tier.putDocument(Data([1]), named: "a")
        #expect(fixture.container.zones() == ["Test", "Test-documents"])
    }

    @Test(arguments: [CloudFault.userDeletedZone, .encryptedDataReset])
    func `never makes a zone anew by itself`(fault: CloudFault) async throws {
        let expected: CloakroomError.Code = fault == .userDeletedZone ? .zoneDeleted : .encryptedDataReset
        let fixture = try CloudFixture()
        fixture.container.failZone("Test", fault)
        fixture.container.failZone("Test-documents", fault)
        let (file, photo) = try fixture.photo("one")
        #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == expected)
        #expect(await code { _ = try await fixture.tier.verify(photo, file: file) } == expected)
        #expect(await code { try await fixture.tier.putThumbnail(Data([1]), of: photo) } == expected)
        #expect(await code { try await fixture.tier.putDocument(Data([1]), named: "a") } == expected)
        #expect(await code { _ = try await fixture.tier.documents() } == expected)
        #expect(await code { for try await _ in fixture.tier.list() {} } == expected)
        #expect(await fixture.tier.availability().failure?.code == expected)
        #expect(fixture.container.requests(.saveZone) == [])
        #expect(fixture.container.requests(.deleteZone) == [])

        fixture.container.failZone("Test-documents", .userDeletedZone)
        try await fixture.tier.recreateZone()
        #expect(fixture.container.requests(.deleteZone).count == (fault == .encryptedDataReset ? 1 : 0))
        #expect(await fixture.tier.availability() == TierAvailability())
        #expect(try await fixture.tier.verify(photo, file: file) == nil)
        try await fixture.tier.put(file, photo, progress: nil)
        #expect(fixture.container.records().count == 1)
    }

    @Test func `a zone that was there and is not any more is not empty`() async throws {
        let fixture = try CloudFixture()
        var (file, photo) = try await fixture.stored("one")
        fixture.container.state.withLock { $0.zones["_alice"]?["Test"] = nil }
        #expect(await code { _ = try await fixture.tier.verify(photo, file: file) } == .zoneDeleted)
        #expect(await code { for try await _ in fixture.tier.list() {} } == .zoneDeleted)
        #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == .zoneDeleted)
        #expect(await fixture.tier.availability().failure?.code == .zoneDeleted)
        photo.provenTag = nil
        #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == .zoneDeleted)
        #expect(fixture.container.zones() == [])
    }

    @Test func `after a start, what was proven once is not absent with its zone`() async throws {
        let fixture = try CloudFixture()
        var (file, photo) = try fixture.photo("one")
        photo.provenTag = "tag-1"
        let copy = fixture.folder.appendingPathComponent("copy.jpg")
        #expect(await code { _ = try await fixture.tier.verify(photo, file: file) } == .zoneDeleted)
        #expect(await code { try await fixture.tier.fetch(photo, to: copy, progress: nil) } == .zoneDeleted)
    }

    @Test func `a zone that is there stays as it is`() async throws {
        let fixture = try CloudFixture()
        _ = try await fixture.stored("one")
        try await fixture.tier.putDocument(Data([1]), named: "a")
        fixture.container.forgetRequests()
        try await fixture.tier.recreateZone()
        #expect(fixture.container.requests(.saveZone) + fixture.container.requests(.deleteZone) == [])
        #expect(fixture.container.records().count == 1)
    }

    @Test(arguments: ["", "a b", "a/b", "ä", String(repeating: "a", count: 101)])
    func `refuses a name that CloudKit would refuse`(name: String) {
        #expect(throws: CloakroomError.self) { try CloudKitColdTier(ScriptedCloudContainer(), zone: name) }
    }
}
