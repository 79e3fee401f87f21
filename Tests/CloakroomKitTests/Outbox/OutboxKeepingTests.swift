import CloakroomAWS
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// What an outbox still has after its records were damaged, its copies could not be read, or what it sent has expired.
@Suite struct OutboxKeepingTests {
    private let bench: OutboxFixture

    init() throws { bench = try OutboxFixture() }

    // MARK: Damaged records

    @Test func `items whose rows are damaged are made anew before copies without an item are removed`() async throws {
        let id: OutboxItem.ID
        do { id = try await bench.outbox().add(photo: try bench.photo("one")) }
        try bench.damageItems()
        let outbox = try bench.outbox()
        #expect(try await outbox.items().map(\.id) == [id])
        #expect(try Data(contentsOf: bench.copy(of: id)) == Data("one".utf8))
        #expect(await outbox.run().sent == 1)
    }

    @Test func `rows that turn out to be damaged while the outbox is open cost no item`() async throws {
        let outbox = try bench.outbox()
        let id = try await outbox.add(photo: try bench.photo("one"))
        try bench.damageItems()
        #expect(try await outbox.unsent().items == 1)
        #expect(try await outbox.items().map(\.id) == [id])
        try bench.damageItems()
        // The records say when each was added, and that is their order.
        bench.fake.pass(.seconds(1))
        let next = try await outbox.add(photo: try bench.photo("two"))
        #expect(try await outbox.items().map(\.id) == [id, next])
        #expect(await outbox.run().sent == 2)
    }

    @Test func `a sign-out discards also what is in damaged rows`() async throws {
        do {
            let outbox = try bench.outbox()
            try await outbox.add(photo: try bench.photo("one"))
            try bench.damageItems()
            let report = try await outbox.signOut(.discardingUnsent)
            #expect(report.removed.count == 1 && report.kept.isEmpty)
        }
        #expect(try bench.files() == [])
        #expect(try await bench.outbox().items() == [])
    }

    /// The names of the outbox's files that have a text.
    private func files(with text: String) throws -> [String] {
        let found = FileManager.default.enumerator(
            at: bench.own, includingPropertiesForKeys: nil)
        return try (found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }
            .filter { try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil }.map(\.lastPathComponent)
    }

    @Test func `a sign-out that discards leaves no copy whose record is damaged, too`() async throws {
        do {
            let outbox = try bench.outbox()
            let id = try await outbox.add(photo: try bench.photo("a private photo"))
            try Data("{".utf8).write(to: bench.copy(of: id).appendingPathExtension("json"))
        }
        try bench.damageItems()
        do {
            let outbox = try bench.outbox()
            #expect(try files(with: "a private photo").count == 1)
            try await outbox.signOut(.discardingUnsent)
        }
        #expect(try files(with: "a private photo") == [])
    }

    @Test func `a sign-out that discards leaves no database that was moved aside`() async throws {
        do { try await bench.outbox().add(asset: UploadContent("two"), reference: "reference of a message") }
        try bench.damageItems()
        do {
            let outbox = try bench.outbox()
            #expect(try await outbox.unsent().items == 1)
            try await outbox.signOut(.discardingUnsent)
        }
        #expect(try files(with: "reference of a message") == [])
    }

    @Test func `a record under another name than its item's is none`() async throws {
        let id: OutboxItem.ID
        do { id = try await bench.outbox().add(photo: try bench.photo("one")) }
        let folder = try OutboxFolder(in: bench.root, owner: .test)
        let record = folder.files.appendingPathComponent("\(id.rawValue).json")
        try FileManager.default.copyItem(at: record, to: folder.files.appendingPathComponent("other.json"))
        #expect(try folder.recordedRows().map(\.id) == [id.rawValue])
    }

    // MARK: Copies that cannot be opened

    @Test(arguments: [EPERM, EACCES, EMFILE, ENFILE, ENOMEM])
    func `a copy that cannot be opened now is not damaged, and none is given up for it`(number: Int32) async throws {
        let id: OutboxItem.ID
        do { id = try await bench.outbox().add(photo: try bench.photo("one")) }
        let locked = try OutboxFolder(in: bench.root, owner: .test, errorOfOpening: { _ in number })
        let row = try #require(try OutboxFolder(in: bench.root, owner: .test).recordedRows().first)
        // As it is where the system does not open it.
        let (copy, aside) = (bench.copy(of: id), bench.folder.url.appendingPathComponent("aside"))
        try FileManager.default.moveItem(at: copy, to: aside)
        #expect(!locked.isUnchanged(row))
        let errors = [
            await #expect(throws: CloakroomError.self) { try await locked.hasSameBytes(row) },
            #expect(throws: CloakroomError.self) { try locked.recordedRows() },
        ]
        #expect(errors.map { $0?.code } == [.storeFailed, .storeFailed])
        #expect(OutboxRetry(try #require(errors[0]), failures: 0) == .unchanged)
        try FileManager.default.moveItem(at: aside, to: copy)
        #expect(try await locked.hasSameBytes(row))
    }

    @Test func `a copy that is gone, a link or a folder is no copy`() async throws {
        let folder = try OutboxFolder(in: bench.root, owner: .test)
        #expect(OutboxFolder.errorOfOpening(folder.file("1")) == ENOENT)
        try FileManager.default.createSymbolicLink(at: folder.file("2"), withDestinationURL: bench.folder.url)
        #expect(OutboxFolder.errorOfOpening(folder.file("2")) == ELOOP)
        #expect(OutboxFolder.errorOfOpening(folder.files) == 0)
    }

    @Test func `a photo that is added again while its damaged copy is being sent takes its place`() async throws {
        let gate = Gate()
        let outbox = try bench.outbox()
        let id = try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .failure(.interrupted))
        await outbox.run()
        bench.fake.pass(.seconds(1_000))
        // It looks whether S3 has it.
        await bench.network.inject("HEAD", .held(gate))
        let run = Task { await outbox.run() }
        await gate.arrival()
        try Data("eno".utf8).write(to: bench.copy(of: id))
        #expect(try await outbox.add(photo: try bench.photo("one")) == id)
        await gate.open()
        #expect(await run.value.failed == 0)
        await outbox.run()
        #expect(await bench.s3.objects[OutboxFixture.key("one")]?.bytes == Data("one".utf8))
        #expect(try await outbox.items() == [])
    }

    // MARK: Assets that are not acknowledged

    private func uploaded() async throws -> (Outbox, OutboxAsset) {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        #expect(await outbox.run().sent == 1)
        return (outbox, try #require(try await outbox.uploadedAssets().first))
    }

    @Test func `an asset that expired before the app took its URL is sent again`() async throws {
        let (outbox, asset) = try await uploaded()
        await bench.s3.delete(asset.objectKey)
        bench.fake.pass(.seconds(31 * 86_400))
        #expect(await outbox.run().sent == 1)
        let again = try #require(try await outbox.uploadedAssets().first)
        #expect(again.objectKey != asset.objectKey && again.reference == "a")
        #expect(await bench.s3.objects[again.objectKey]?.bytes == Data("two".utf8))
        try await outbox.acknowledge(again.id)
        #expect(try bench.files() == [])
    }

    @Test
    func `an asset that waits for the app is renewed every 15 days, after a failure an hour later`() async throws {
        let (outbox, asset) = try await uploaded()
        await outbox.run()
        #expect(await bench.worker.renewals == 0)
        for count in 1...3 {
            bench.fake.pass(.seconds(15 * 86_400))
            await outbox.run()
            await outbox.run()
            #expect(await bench.worker.renewals == count)
        }
        bench.fake.pass(.seconds(15 * 86_400))
        await bench.worker.failRenewals(1)
        await outbox.run()
        await outbox.run()
        #expect(await bench.worker.renewals == 4)
        bench.fake.pass(.seconds(3_600))
        await outbox.run()
        #expect(await bench.worker.renewals == 5)
        #expect(try await outbox.uploadedAssets() == [asset])
    }

    @Test func `an asset of which neither the object nor the bytes are left is a failed item`() async throws {
        let (outbox, asset) = try await uploaded()
        await bench.s3.delete(asset.objectKey)
        try FileManager.default.removeItem(at: bench.copy(of: asset.id))
        bench.fake.pass(.seconds(31 * 86_400))
        await outbox.run()
        #expect(try await outbox.failedItems().map(\.state.code) == [.noSuchObject])
    }

    @Test func `an asset that was uploaded while the clock was a year ahead is renewed all the same`() async throws {
        bench.fake.setWallClock(ahead: .seconds(365 * 86_400))
        let (outbox, _) = try await uploaded()
        bench.fake.setWallClock(ahead: .zero)
        bench.fake.pass(.seconds(15 * 86_400))
        await outbox.run()
        #expect(await bench.worker.renewals == 1)
        await outbox.run()
        #expect(await bench.worker.renewals == 1)
    }

    @Test func `photos are sent before assets are renewed`() async throws {
        let (outbox, _) = try await uploaded()
        bench.fake.pass(.seconds(15 * 86_400))
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate))
        try await outbox.add(photo: try bench.photo("one"))
        async let report = outbox.run()
        await gate.arrival()
        #expect(await bench.worker.renewals == 0)
        await gate.open()
        #expect(await report.sent == 1)
        #expect(await bench.worker.renewals == 1)
    }

    @Test func `a photo that is added before a call of run is sent by that call, also during renewals`() async throws {
        let (outbox, _) = try await uploaded()
        bench.fake.pass(.seconds(16 * 86_400))
        let gate = Gate()
        await bench.worker.holdRenewals(gate)
        let first = Task { await outbox.run() }
        await gate.arrival()
        try await outbox.add(photo: try bench.photo("one"))
        async let second = outbox.run()
        try await until { await outbox.run?.shared.callerCount == 2 }
        await gate.open()
        #expect(await second.isComplete)
        #expect(await first.value.sent == 1)
        #expect(await bench.s3.objects[OutboxFixture.key("one")] != nil)
        #expect(await bench.worker.renewals == 1)
    }

    @Test func `images of chats that wait for the app are not renewed, and their places not described`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("two"), reference: "a", isChatImage: true)
        #expect(await outbox.run().sent == 1)
        let asset = try #require(try await outbox.uploadedAssets().first)
        var dumped = ""
        dump(asset, to: &dumped)
        for text in ["\(asset)", String(reflecting: asset), dumped] {
            #expect(!text.contains(asset.objectKey) && text.contains("a"))
        }
        bench.fake.pass(.seconds(31 * 86_400))
        await outbox.run()
        #expect(await bench.worker.renewals == 0)
    }

    // MARK: Faults of the bucket

    @Test(arguments: [(404, "NoSuchBucket"), (400, "KMS.DisabledException"), (301, "PermanentRedirect")])
    func `a fault of the bucket makes no item a failed one`(status: Int, code: String) async throws {
        let outbox = try bench.outbox()
        for text in ["one", "two", "a photo in parts, longer than 40 bytes in all"] {
            try await outbox.add(photo: try bench.photo(text))
        }
        try await outbox.add(asset: UploadContent("asset"), reference: "a")
        let body = Data("<Error><Code>\(code)</Code><Message>no</Message></Error>".utf8)
        let response = HTTPResponse(status: status, fields: [], body: body)
        for method in ["PUT", "POST"] { await bench.network.inject(method, .response(response), times: 100) }
        let report = await outbox.run()
        #expect(report.failed == 0 && report.sent == 0)
        #expect(try await outbox.failedItems() == [])
        await bench.network.removeFaults()
        bench.fake.pass(.seconds(86_400))
        #expect(await outbox.run().sent == 4)
    }
}
