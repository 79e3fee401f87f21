import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudKitAccountTests {
    @Test func `does nothing for another account than the first`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try await fixture.stored("one")
        try await fixture.tier.putDocument(Data([1]), named: "a")
        let (newFile, newPhoto) = try fixture.photo("new")
        fixture.container.state.withLock { $0.user = "_bob" }
        fixture.container.forgetRequests()
        let (tier, copy) = (fixture.tier, fixture.folder.appendingPathComponent("copy.jpg"))
        #expect(await code { _ = try await tier.identity } == .accountChanged)
        #expect(await code { try await tier.put(newFile, newPhoto, progress: nil) } == .accountChanged)
        #expect(await code { _ = try await tier.verify(photo, file: file) } == .accountChanged)
        #expect(await code { try await tier.fetch(photo, to: copy, progress: nil) } == .accountChanged)
        #expect(await code { try await tier.delete(photo) } == .accountChanged)
        #expect(await code { try await tier.putThumbnail(Data([1]), of: photo) } == .accountChanged)
        #expect(await code { _ = try await tier.thumbnail(of: photo) } == .accountChanged)
        #expect(await code { try await tier.putDocument(Data([1]), named: "a") } == .accountChanged)
        #expect(await code { _ = try await tier.document(named: "a") } == .accountChanged)
        #expect(await code { _ = try await tier.documents() } == .accountChanged)
        #expect(await code { try await tier.deleteDocument(named: "a") } == .accountChanged)
        #expect(await code { try await tier.recreateZone() } == .accountChanged)
        #expect(await code { for try await _ in tier.list() {} } == .accountChanged)
        #expect(await tier.availability().failure?.code == .accountChanged)
        let requests = fixture.container.state.withLock { $0.requests }
        #expect(requests.allSatisfy { [.user, .status].contains($0.operation) })
        #expect(fixture.container.zones(of: "_bob") == [])
        #expect(fixture.container.records().count == 1)
    }

    @Test func `an account that changes during a request makes its response worthless`() async throws {
        let fixture = try CloudFixture()
        let (_, photo) = try await fixture.stored("one")
        let container = fixture.container
        let changes = ScriptedCloudContainer.Step.first { container.state.withLock { $0.user = "_bob" } }
        container.state.withLock { $0.zones["_bob"] = ["Test": .init()] }
        container.script(.fetch, changes)
        // Not absent, although the other account's zone has no such record.
        #expect(await code { _ = try await fixture.tier.verify(photo, file: nil) } == .accountChanged)
        container.state.withLock { $0.user = "_alice" }
        let (newFile, another) = try fixture.photo("another")
        container.script(.save, changes)
        #expect(await code { try await fixture.tier.put(newFile, another, progress: nil) } == .accountChanged)
        container.state.withLock { $0.user = "_alice" }
        container.script(.delete, changes)
        #expect(await code { try await fixture.tier.delete(photo) } == .accountChanged)
    }

    @Test func `an account that changes during a wait gets nothing`() async throws {
        let fixture = try CloudFixture()
        _ = try await fixture.stored("one")
        let (file, photo) = try fixture.photo("another")
        let container = fixture.container
        container.state.withLock { $0.zones["_bob"] = ["Test": .init()] }
        container.script(.save, .fail(.busy(retryAfter: .seconds(1))))
        container.script(
            .user, .first {}, .first {}, .first {}, .first { container.state.withLock { $0.user = "_bob" } })
        #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == .accountChanged)
        #expect(container.records(of: "_bob") == [])
    }

    @Test func `a sign-out is told from a password that is wanted`() async throws {
        let fixture = try CloudFixture()
        fixture.container.state.withLock { $0.status = .noAccount }
        #expect(await code { _ = try await fixture.tier.identity } == .unauthorized)
        #expect(await fixture.tier.availability().failure?.code == .unauthorized)
        fixture.container.state.withLock { $0.status = .available }
        let (file, photo) = try await fixture.stored("one")
        let (newFile, newPhoto) = try fixture.photo("new")
        for (status, expected) in [
            (CloudAccountStatus.noAccount, CloakroomError.Code.accountChanged), (.temporarilyUnavailable, .unavailable),
            (.couldNotDetermine, .unavailable), (.restricted, .accessDenied),
        ] {
            fixture.container.state.withLock { $0.status = status }
            #expect(await code { _ = try await fixture.tier.identity } == expected)
            #expect(await code { try await fixture.tier.put(newFile, newPhoto, progress: nil) } == expected)
            #expect(await code { _ = try await fixture.tier.verify(photo, file: file) } == expected)
            #expect(await fixture.tier.availability().failure?.code == expected)
        }
        // Nothing was kept to be sent later.
        fixture.container.forgetRequests()
        fixture.container.state.withLock { $0.status = .available }
        #expect(try await fixture.tier.verify(photo, file: file) != nil)
        #expect(fixture.container.requests(.save) == [])
        #expect(fixture.container.records().count == 1)
    }
}
