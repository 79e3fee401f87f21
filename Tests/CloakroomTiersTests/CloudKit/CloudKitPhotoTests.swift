import CloakroomCrypto
import CloakroomKit
import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudKitPhotoTests {
    @Test func `stores a photo under the name of its digest, and fetches the same bytes`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try fixture.photo("one")
        try await fixture.tier.put(file, photo, progress: nil)
        #expect(fixture.container.records() == ["photo-\(photo.md5.hexadecimal)"])
        let copy = fixture.folder.appendingPathComponent("copy.jpg")
        try await fixture.tier.fetch(photo, to: copy, progress: nil)
        #expect(try Data(contentsOf: copy) == Data("one".utf8))
        #expect(fixture.leftovers == [])
        try await fixture.tier.delete(photo)
        try await fixture.tier.delete(photo)
        #expect(fixture.container.records() == [])
        #expect(await code { try await fixture.tier.fetch(photo, to: copy, progress: nil) } == .noSuchObject)
        #expect(try await fixture.tier.verify(photo, file: nil) == nil)
    }

    @Test func `reads a photo back once, and then its change tag is enough`() async throws {
        let fixture = try CloudFixture()
        var (file, photo) = try fixture.photo("one")
        try await fixture.tier.put(file, photo, progress: nil)
        let proof = try #require(try await fixture.tier.verify(photo, file: file))
        #expect(fixture.container.requests(.download).count == 1)
        #expect(fixture.leftovers == [])
        #expect(proof.key == "photo-\(photo.md5.hexadecimal)")
        #expect(proof.identity == TierIdentity("cloudkit:iCloud.com.example.photos/Test/_alice"))
        photo.provenTag = proof.tag
        #expect(try await fixture.tier.verify(photo, file: nil) == proof)
        #expect(fixture.container.requests(.download).count == 1)
    }

    @Test func `reads a photo back again when its record was written to`() async throws {
        let fixture = try CloudFixture()
        let (_, photo) = try await fixture.stored("one")
        fixture.container.edit("photo-\(photo.md5.hexadecimal)") { record, _ in record.changeTag = "another" }
        #expect(try await fixture.tier.verify(photo, file: nil)?.tag == "another")
        #expect(fixture.container.requests(.download).count == 2)
        fixture.container.edit("photo-\(photo.md5.hexadecimal)") { record, asset in
            (record.changeTag, asset) = ("bad", Data("two".utf8))
        }
        #expect(await code { _ = try await fixture.tier.verify(photo, file: nil) } == .photoCollision)
    }

    @Test(arguments: ["size", "sha256", "none", "bytes"])
    func `never takes other bytes for the photo`(what: String) async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try fixture.photo("one")
        try await fixture.tier.put(file, photo, progress: nil)
        fixture.container.edit("photo-\(photo.md5.hexadecimal)") { record, asset in
            switch what {
            case "size": record.byteCount = 4
            case "sha256": record.sha256 = Data(SHA256.hash(Array("two".utf8)))
            case "none": record.sha256 = nil
            default: asset = Data("two".utf8)
            }
        }
        #expect(await code { _ = try await fixture.tier.verify(photo, file: file) } == .photoCollision)
        guard what != "bytes" else {
            let copy = fixture.folder.appendingPathComponent("copy.jpg")
            #expect(await code { try await fixture.tier.fetch(photo, to: copy, progress: nil) } == .checksumMismatch)
            #expect(fixture.leftovers == [])
            #expect(!FileManager.default.fileExists(atPath: copy.path))
            return
        }
        #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == .photoCollision)
        #expect(fixture.container.requests(.save).count == 2)  // of which the first found no zone
    }

    @Test func `proves a photo of a listing by its MD5 and the record's own SHA-256`() async throws {
        let fixture = try CloudFixture()
        var (_, photo) = try await fixture.stored("one")
        (photo.sha256, photo.provenTag) = (nil, nil)
        #expect(try await fixture.tier.verify(photo, file: nil) != nil)
        fixture.container.edit("photo-\(photo.md5.hexadecimal)") { record, _ in
            record.sha256 = Data(SHA256.hash(Array("two".utf8)))
        }
        #expect(await code { _ = try await fixture.tier.verify(photo, file: nil) } == .photoCollision)
    }

    @Test func `never uploads a file with other bytes than the photo's`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try fixture.photo("one")
        try Data("1ne".utf8).write(to: file)
        #expect(await code { try await fixture.tier.put(file, photo, progress: nil) } == .photoDamaged)
        #expect(fixture.container.records() == [])
    }

    @Test func `makes no duplicate of what was saved with a lost response`() async throws {
        let fixture = try CloudFixture()
        _ = try await fixture.stored("another")
        let (file, photo) = try fixture.photo("one")
        fixture.container.script(.save, .loseResponse)
        try await fixture.tier.put(file, photo, progress: nil)
        #expect(fixture.container.records().count == 2)
        #expect(fixture.waits.all == [1])
        #expect(try await fixture.tier.verify(photo, file: nil) != nil)
    }

    @Test func `uploads no bytes of a photo that is there`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try await fixture.stored("one")
        fixture.container.forgetRequests()
        try await fixture.tier.put(file, photo, progress: nil)
        #expect(fixture.container.requests(.save) == [])
        #expect(fixture.container.requests(.fetch).count == 1)
    }

    @Test(arguments: [true, false])
    func `finds the same photo of a faster device, and not another one`(isSame: Bool) async throws {
        let fixture = try CloudFixture()
        _ = try await fixture.stored("another")
        let (file, photo) = try fixture.photo("one")
        let record = CloudRecord(
            kind: .photo, name: "photo-\(photo.md5.hexadecimal)", byteCount: 3,
            sha256: Data(isSame ? photo.sha256 ?? [] : SHA256.hash([])))
        fixture.container.script(.save, .failRecords([record.name: .recordChanged(record)]))
        let result = await code { try await fixture.tier.put(file, photo, progress: nil) }
        #expect(result == (isSame ? nil : .photoCollision))
    }

    @Test func `adopts what an earlier fetch had read to its end`() async throws {
        let fixture = try CloudFixture()
        let (_, photo) = try await fixture.stored("one")
        let copy = fixture.folder.appendingPathComponent("copy.jpg")
        try Data("one".utf8).write(to: FetchedFile(of: copy).url)
        fixture.container.forgetRequests()
        try await fixture.tier.fetch(photo, to: copy, progress: nil)
        #expect(fixture.container.requests(.download) == [])
        #expect(try Data(contentsOf: copy) == Data("one".utf8))
        try Data("on".utf8).write(to: FetchedFile(of: copy).url)
        try await fixture.tier.fetch(photo, to: copy, progress: nil)
        #expect(fixture.container.requests(.download).count == 1)
        #expect(fixture.leftovers == [])
    }

    @Test func `reports the last byte once, when all is done`() async throws {
        let fixture = try CloudFixture()
        let (file, photo) = try fixture.photo("0123456789")
        let steps = Mutex<[Int64]>([])
        try await fixture.tier.put(file, photo) { step in steps.withLock { $0.append(step.bytesDone) } }
        // Twice, as the first request finds no zone.
        #expect(steps.withLock { $0 } == [5, 5, 10])
        steps.withLock { $0 = [] }
        let copy = fixture.folder.appendingPathComponent("copy.jpg")
        try await fixture.tier.fetch(photo, to: copy) { step in steps.withLock { $0.append(step.bytesDone) } }
        #expect(steps.withLock { $0 } == [5, 10])
    }

    @Test func `lists all photos over many pages, also when the token expires in between`() async throws {
        let fixture = try CloudFixture()
        var expected: Set<[UInt8]> = []
        for number in 0..<25 {
            let (file, photo) = try fixture.photo("photo \(number)")
            try await fixture.tier.put(file, photo, progress: nil)
            try await fixture.tier.putThumbnail(Data([1]), of: photo)
            expected.insert(photo.md5)
        }
        fixture.container.state.withLock { $0.pageSize = 8 }
        fixture.container.script(.changes, .failRecords([:]), .fail(.busy(retryAfter: nil)), .fail(.changeTokenExpired))
        var listed: [ColdObject] = []
        for try await object in fixture.tier.list() { listed.append(object) }
        #expect(listed.count == 25)
        #expect(Set(listed.map(\.md5)) == expected)
        #expect(listed.allSatisfy { $0.key == "photo-\($0.md5.hexadecimal)" && $0.byteCount > 6 })
    }

    @Test func `a listing that is not complete fails`() async throws {
        let fixture = try CloudFixture()
        for number in 0..<3 {
            let (file, photo) = try fixture.photo("photo \(number)")
            try await fixture.tier.put(file, photo, progress: nil)
        }
        fixture.container.state.withLock { $0.pageSize = 1 }
        fixture.container.script(.changes, .failRecords([:]), .fail(.unreachable))
        var count = 0
        let result = await code { for try await _ in fixture.tier.list() { count += 1 } }
        #expect((result, count) == (.unreachable, 1))
    }
}
