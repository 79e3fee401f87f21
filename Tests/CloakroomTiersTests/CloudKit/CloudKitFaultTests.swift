import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudKitFaultTests {
    @Test(arguments: [
        (2, CloudFault.partialFailure(["a": .unknownItem])), (3, .unreachable), (4, .unreachable),
        (5, .refused(code: 5)), (6, .busy(retryAfter: .seconds(7))), (7, .busy(retryAfter: .seconds(7))),
        (8, .refused(code: 8)), (9, .notAuthenticated), (10, .refused(code: 10)), (11, .unknownItem),
        (12, .refused(code: 12)), (14, .recordChanged(nil)), (16, .unreadableFile), (17, .unreadableFile),
        (20, .cancelled), (21, .changeTokenExpired), (22, .busy(retryAfter: .seconds(7))),
        (23, .busy(retryAfter: .seconds(7))), (25, .quotaExceeded), (26, .zoneNotFound), (27, .limitExceeded),
        (28, .userDeletedZone), (34, .responseLost), (35, .assetNotAvailable), (36, .accountUnavailable),
        (1, .other(code: 1)), (99, .other(code: 99)),
    ])
    func `knows the codes of CKError`(number: Int, fault: CloudFault) {
        #expect(CloudFault(code: number, retryAfter: 7, partial: ["a": .unknownItem]) == fault)
    }

    @Test func `tells a zone that lost its keys from one that is not there`() {
        #expect(CloudFault(code: 26, isReset: true) == .encryptedDataReset)
        #expect(CloudFault(code: 28, isReset: true) == .userDeletedZone)
        #expect(CloudFault(code: 7) == .busy(retryAfter: nil))
        #expect(CloudFault(code: 7, retryAfter: -1) == .busy(retryAfter: nil))
    }

    /// How an upload of a photo that is not there yet ends, and whether the photo is there then.
    @Test(arguments: [
        (CloudFault.quotaExceeded, CloakroomError.Code.storageQuotaExceeded), (.unreachable, .unreachable),
        (.userDeletedZone, .zoneDeleted), (.zoneNotFound, .zoneDeleted), (.encryptedDataReset, .encryptedDataReset),
        (.limitExceeded, .bodyTooLarge), (.cancelled, .cancelled), (.accountUnavailable, .unavailable),
        (.notAuthenticated, .unauthorized), (.refused(code: 10), .accessDenied), (.other(code: 1), .internalError),
        (.unreadableFile, .unreadableFile), (.unwritableFile(isFull: true), .diskFull),
        (.unwritableFile(isFull: false), .unwritableFile), (.busy(retryAfter: .seconds(31)), .tooManyRequests),
    ])
    func `an upload ends with an error that says why, and stores nothing`(
        fault: CloudFault, expected: CloakroomError.Code
    ) async throws {
        for isWhole in [true, false] {
            let fixture = try CloudFixture()
            _ = try await fixture.stored("another")
            let (file, photo) = try fixture.photo("one")
            let name = "photo-\(photo.md5.hexadecimal)"
            fixture.container.script(.save, isWhole ? .fail(fault) : .failRecords([name: fault]))
            #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == expected)
            #expect(!fixture.container.records().contains(name))
            #expect(fixture.waits.all == [])
        }
    }

    @Test(arguments: [
        CloudFault.busy(retryAfter: .seconds(3)), .unreachable, .userDeletedZone, .encryptedDataReset, .cancelled,
        .accountUnavailable, .notAuthenticated, .refused(code: 10), .other(code: 1), .assetNotAvailable,
        .quotaExceeded, .changeTokenExpired, .limitExceeded, .zoneNotFound,
    ])
    func `a failure is never an absence`(fault: CloudFault) async throws {
        let fixture = try CloudFixture()
        let (_, photo) = try await fixture.stored("one")
        try await fixture.tier.putDocument(Data([1]), named: "a")
        let many = Array(repeating: ScriptedCloudContainer.Step.fail(fault), count: 9)
        for operation in [ScriptedCloudContainer.Operation.fetch, .download, .changes] {
            fixture.container.state.withLock { $0.steps[operation] = many }
        }
        #expect(await code { _ = try await fixture.tier.verify(photo, file: nil) } != nil)
        #expect(await code { _ = try await fixture.tier.thumbnail(of: photo) } != nil)
        #expect(await code { _ = try await fixture.tier.document(named: "a") } != nil)
        #expect(await code { _ = try await fixture.tier.documents() } != nil)
        #expect(await code { for try await _ in fixture.tier.list() {} } != nil)
        let copy = fixture.folder.appendingPathComponent("copy.jpg")
        let fetched = await code { try await fixture.tier.fetch(photo, to: copy, progress: nil) }
        #expect(fetched != nil && fetched != .noSuchObject)
        #expect(!FileManager.default.fileExists(atPath: copy.path))
    }

    @Test func `waits as CloudKit says, and not for ever`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try await fixture.stored("one")
        fixture.container.script(
            .fetch, .fail(.busy(retryAfter: .seconds(5))), .fail(.busy(retryAfter: nil)),
            .fail(.busy(retryAfter: .seconds(30))))
        #expect(try await fixture.tier.verify(photo, file: file) != nil)
        #expect(fixture.waits.all == [5, 2, 30])
        for _ in 0..<4 { fixture.container.script(.fetch, .fail(.busy(retryAfter: .seconds(9)))) }
        do {
            _ = try await fixture.tier.verify(photo, file: file)
            Issue.record("it has not failed")
        } catch {
            let error = try #require(error as? CloakroomError)
            #expect(error.code == .tooManyRequests)
            #expect(error.retryAfter == .seconds(9))
            #expect(error.isRetryable)
        }
        #expect(fixture.waits.all == [5, 2, 30, 9, 9, 9])
    }

    @Test func `over quota, photos are still read`() async throws {
        let fixture = try CloudFixture()
        let (_, photo) = try await fixture.stored("one")
        let (file, another) = try fixture.photo("another")
        fixture.container.script(.save, .fail(.quotaExceeded))
        #expect(await code { try await fixture.tier.put(file, another, progress: nil) } == .storageQuotaExceeded)
        let copy = fixture.folder.appendingPathComponent("copy.jpg")
        try await fixture.tier.fetch(photo, to: copy, progress: nil)
        #expect(try Data(contentsOf: copy) == Data("one".utf8))
    }
}
