import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct OutboxFailureTests {
    private let bench: OutboxFixture

    init() throws { bench = try OutboxFixture() }

    @Test func `a connection that broke once is retried without a word, and shown when it breaks again`() async throws {
        let outbox = try bench.outbox()
        let id = try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .failure(.interrupted), times: 2)
        let report = await outbox.run()
        #expect(report.stoppedBy == nil && report.unsent.items == 1)
        #expect(try await outbox.items().map(\.state) == [.waiting(until: report.nextAttempt, after: nil)])
        #expect(report.nextAttempt == bench.fake.wallTime + 2)
        bench.fake.pass(.seconds(2))
        await outbox.run()
        #expect(try await outbox.items().map(\.state.code) == [.unreachable])
        try await outbox.retry(id)
        #expect(await outbox.run().sent == 1)
    }

    @Test func `waits as long as the server wants, also in the next process`() async throws {
        do {
            let outbox = try bench.outbox()
            try await outbox.add(asset: UploadContent("two"), reference: "a")
            await bench.worker.fail(CloakroomError(.tooManyRequests, "slow down", retryAfter: .seconds(600)))
            #expect(await outbox.run().nextAttempt == bench.fake.wallTime + 602)
        }
        bench.fake.pass(.seconds(600))
        #expect(await (try bench.outbox()).run().sent == 0)
        bench.fake.pass(.seconds(2))
        #expect(await (try bench.outbox()).run().sent == 1)
    }

    @Test(arguments: [90 * 86_400, 36_000])
    func `a clock that was set back delays nothing`(seconds: Int) async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .failure(.interrupted))
        await outbox.run()
        bench.fake.setWallClock(ahead: .seconds(-seconds))
        #expect(await outbox.run().sent == 1)
    }

    @Test func `a clock that was set back by seconds ends no wait that the server wants`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        await bench.worker.fail(CloakroomError(.tooManyRequests, "slow down", retryAfter: .seconds(600)))
        await outbox.run()
        bench.fake.setWallClock(ahead: .seconds(-30))
        #expect(await outbox.run().sent == 0)
        bench.fake.pass(.seconds(632))
        #expect(await outbox.run().sent == 1)
    }

    @Test func `what cannot succeed stays as a failed item until the app retries or removes it`() async throws {
        do {
            let outbox = try bench.outbox()
            try await outbox.add(asset: UploadContent("two"), reference: "a")
            try await outbox.add(asset: UploadContent("three"), reference: "b")
            await bench.worker.fail(CloakroomError(.contentTypeNotAllowed, "no"), times: 2)
            let report = await outbox.run()
            #expect(report.failed == 2 && report.stoppedBy == nil)
            #expect(report.unsent == UnsentWork(items: 2, bytes: 8, failed: 2))
            bench.fake.pass(.seconds(1_000_000))
            #expect(await outbox.run().sent == 0)
        }
        let outbox = try bench.outbox()
        let failed = try await outbox.failedItems()
        #expect(failed.map(\.state.code) == [.contentTypeNotAllowed, .contentTypeNotAllowed])
        try await outbox.retry(failed[0].id)
        #expect(try await outbox.remove(failed[1].id)?.kind == .asset(reference: "b"))
        #expect(await outbox.run().sent == 1)
        #expect(try await outbox.unsent().isEmpty)
        #expect(try bench.files().count == 2)
    }

    @Test(arguments: [
        CloakroomError.Code.sessionRevoked, .unauthorized, .userDisabled, .storageQuotaExceeded, .forbidden,
    ])
    func `a failure of the account ends the run, and makes no item a failed one`(
        code: CloakroomError.Code
    ) async throws {
        var options = Outbox.Options()
        options.transfersAtOnce = 1
        let outbox = try bench.outbox(options: options)
        for name in ["a", "b", "c"] { try await outbox.add(asset: UploadContent(name), reference: name) }
        await bench.worker.fail(CloakroomError(code, "no"), times: 3)
        let report = await outbox.run()
        #expect(report.stoppedBy?.code == code && report.failed == 0 && report.unsent.items == 3)
        #expect(await bench.worker.errors.count == 2)
    }

    @Test func `an unreachable server is not called for every item`() async throws {
        let outbox = try bench.outbox()
        for number in 0..<60 { try await outbox.add(photo: try bench.photo("\(number)")) }
        await bench.network.inject("PUT", .failure(.unreachable), times: 60)
        let report = await outbox.run()
        #expect(report.stoppedBy?.code == .unreachable)
        #expect(await bench.network.requests.count <= 20)
    }

    @Test func `a copy that was damaged is never sent, and one with another date is`() async throws {
        let outbox = try bench.outbox()
        let damaged = try await outbox.add(photo: try bench.photo("one"))
        let moved = try await outbox.add(photo: try bench.photo("two"))
        let asset = try await outbox.add(asset: UploadContent("ten"), reference: "a")
        let files = bench.root.appendingPathComponent("\(StoreOwner.test.folderName)/files")
        try Data("dix".utf8).write(to: files.appendingPathComponent(asset.rawValue))
        try Data("uno".utf8).write(to: files.appendingPathComponent(damaged.rawValue))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 5)],
            ofItemAtPath: files.appendingPathComponent(moved.rawValue).path)
        let report = await outbox.run()
        #expect(report.sent == 1 && report.failed == 2)
        #expect(try await outbox.failedItems().map(\.state.code) == [.unreadableFile, .unreadableFile])
        #expect(await bench.s3.objects.keys.sorted() == [OutboxFixture.key("two")])
    }

    @Test(arguments: [OutboxStep.targeted, .ended])
    func `a copy that is being checked when its task is cancelled is not damaged`(step: OutboxStep) async throws {
        // In the item's own task, just before its copy is read; the run attempts the item again.
        let cancelled = Log<OutboxStep>()
        let outbox = try bench.outbox { reached in
            guard reached == step, cancelled.all.isEmpty else { return }
            cancelled.append(reached)
            withUnsafeCurrentTask { $0?.cancel() }
        }
        let id =
            step == .targeted
            ? try await outbox.add(asset: UploadContent("two"), reference: "a")
            : try await outbox.add(photo: try bench.photo("one"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 5)], ofItemAtPath: bench.copy(of: id).path)
        if step == .ended { await bench.network.inject("PUT", .response(FakeS3.error(400, "BadDigest"))) }
        let report = await outbox.run()
        #expect(report.failed == 0 && report.sent == 1)
        #expect(cancelled.all == [step])
    }

    @Test func `nothing is sent on a network that may not be used, and no error is left for it`() async throws {
        let conditions = SettableConditions(DeviceConditions(network: .expensive))
        var options = Outbox.Options()
        options.conditions = TransferConditions(network: .inexpensive)
        options.conditions.minimumBatteryLevel = 0.2
        let outbox = try bench.outbox(conditions: conditions, options: options)
        try await outbox.add(photo: try bench.photo("one"))
        let report = await outbox.run()
        #expect(report.stoppedBy?.code == .notAllowedNow)
        #expect(await bench.network.requests.isEmpty)
        #expect(try await outbox.items().map(\.state) == [.waiting(until: nil, after: nil)])
        conditions.set(DeviceConditions(hasExternalPower: false, batteryLevel: 0.01))
        #expect(await outbox.run().stoppedBy?.code == .lowPower)
        conditions.set(DeviceConditions())
        #expect(await outbox.run().sent == 1)
    }

    /// Two photos of four bytes, at two bytes a second.
    private func paced() async throws -> (bench: OutboxFixture, outbox: Outbox) {
        let bench = try OutboxFixture(sleeping: .waits)
        var options = Outbox.Options()
        options.bytesPerSecond = 2
        let outbox = try bench.outbox(options: options)
        for text in ["four", "five"] { try await outbox.add(photo: try bench.photo(text)) }
        return (bench, outbox)
    }

    @Test func `keeps the rate on average`() async throws {
        let (bench, outbox) = try await paced()
        async let report = outbox.run()
        try await until { await bench.s3.objects.count == 1 && bench.fake.sleeps == [.seconds(2)] }
        bench.fake.pass(.seconds(1))
        #expect(await bench.s3.objects.count == 1)
        bench.fake.pass(.seconds(1))
        #expect(await report.sent == 2)
    }

    @Test func `a run with nothing left ends, and the next one waits for the rate all the same`() async throws {
        let (bench, outbox) = try await paced()
        async let first = outbox.run()
        try await until { await bench.s3.objects.count == 1 && bench.fake.sleeps == [.seconds(2)] }
        bench.fake.pass(.seconds(2))
        #expect(await first.isComplete)
        try await outbox.add(photo: try bench.photo("six"))
        async let second = outbox.run()
        // It was looked at, and is not begun.
        try await until { await outbox.run != nil && bench.fake.sleeps.count == 2 }
        for _ in 0..<100 { await Task.yield() }
        #expect(await bench.s3.objects.count == 2)
        bench.fake.pass(.seconds(2))
        #expect(await second.isComplete)
    }

    @Test func `what failed before it was sent takes none of the rate`() async throws {
        let (bench, outbox) = try await paced()
        await bench.network.inject(OutboxFixture.key("four"), .failure(.unreachable))
        async let report = outbox.run()
        try await until { await bench.s3.objects.count == 1 }
        #expect(bench.fake.elapsed == .zero)
        #expect(await report.sent == 1)
    }

    @Test func `what S3 had takes none of the rate`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        var options = Outbox.Options()
        options.bytesPerSecond = 1
        options.largestPut = 40
        let outbox = try bench.outbox(options: options)
        let film = String(repeating: "large ", count: 20)
        await bench.s3.put(OutboxFixture.key(film), Data(film.utf8))
        try await outbox.add(photo: try bench.photo(film))
        try await outbox.add(photo: try bench.photo("four"))
        async let report = outbox.run()
        try await until { await bench.s3.objects.count == 2 }
        #expect(bench.fake.elapsed == .zero)
        #expect(await report.sent == 2)
    }

    @Test func `a sign-out with nothing left to send ends, whatever the rate`() async throws {
        let (bench, outbox) = try await paced()
        async let report = outbox.signOut(.afterSending(within: .seconds(3600)))
        try await until { await bench.s3.objects.count == 1 && bench.fake.sleeps.contains(.seconds(2)) }
        bench.fake.pass(.seconds(2))
        #expect(try await report.kept.isEmpty)
    }

    @Test func `what is urgent does not wait for the rate, and what follows waits for both`() async throws {
        let (bench, outbox) = try await paced()
        async let report = outbox.run()
        try await until { await bench.s3.objects.count == 1 && bench.fake.sleeps == [.seconds(2)] }
        try await outbox.add(photo: try bench.photo("three"), priority: .high)
        try await until { await bench.s3.objects[OutboxFixture.key("three")] != nil && bench.fake.sleeps.count == 2 }
        bench.fake.pass(.seconds(4))
        #expect(await bench.s3.objects.count == 2)
        bench.fake.pass(.milliseconds(500))
        #expect(await report.sent == 3)
    }

    @Test(.enabled(if: SmallDisk.isPossible), arguments: [false, true])
    func `photos that fill the disk are sent, and leave it`(isRelaunch: Bool) async throws {
        let disk = try SmallDisk(byteCount: 4 << 20, at: bench.root)
        defer { disk.unmount() }
        var outbox = try bench.outbox()
        let photos = ["one", "two", "three"].map { String(repeating: $0, count: 10_000) }
        for text in photos { try await outbox.add(photo: try bench.photo(text)) }
        // A run that sends nothing.
        try await outbox.pause()
        await outbox.run()
        try await outbox.resume()
        try disk.fill()
        #expect(await code { try await outbox.add(photo: try bench.photo("four")) } == .diskFull)
        if isRelaunch {
            try await outbox.signOut(.keepingUnsent)
            outbox = try bench.outbox()
        }
        let report = await outbox.run()
        #expect(report.sent == 3 && report.stoppedBy == nil)
        #expect(try bench.files() == [])
        #expect(try disk.freeBytes > 90_000)
    }

    private func code(_ work: () async throws -> some Any) async -> CloakroomError.Code? {
        do { _ = try await work() } catch { return (error as? CloakroomError)?.code }
        return nil
    }

    @Test func `a pause ends what is being sent, and lasts until it is resumed`() async throws {
        do {
            let outbox = try bench.outbox()
            try await outbox.add(photo: try bench.photo("one"))
            let gate = Gate()
            await bench.network.inject("PUT", .held(gate))
            async let report = outbox.run()
            await gate.arrival()
            try await outbox.pause()
            #expect(await bench.s3.objects.isEmpty)
            #expect(await report.stoppedBy?.code == .paused)
            #expect(try await outbox.items().map(\.state) == [.waiting(until: nil, after: nil)])
        }
        let outbox = try bench.outbox()
        #expect(await outbox.run().sent == 0)
        try await outbox.resume()
        #expect(await outbox.run().sent == 1)
    }

    @Test func `a photo whose row is back after a failure of power, and whose file is not, is found in S3`()
        async throws
    {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("a photo"))
        let file = try #require(try bench.files().first { !$0.hasSuffix(".json") })
        // As it is when the end of the upload was not on the disk yet.
        await bench.s3.put(OutboxFixture.key("a photo"), Data("a photo".utf8))
        try FileManager.default.removeItem(
            at: bench.root.appendingPathComponent("\(StoreOwner.test.folderName)/files/\(file)"))
        let report = await outbox.run()
        #expect(report.sent == 1 && report.isComplete)
        #expect(await bench.puts() == [:])
    }

    @Test func `a photo that is added again takes the place of a damaged copy`() async throws {
        let outbox = try bench.outbox()
        let id = try await outbox.add(photo: try bench.photo("a photo"))
        let file = bench.root.appendingPathComponent("\(StoreOwner.test.folderName)/files/\(id.rawValue)")
        try Data("damaged".utf8).write(to: file)
        #expect(await outbox.run().failed == 1)
        #expect(try await outbox.add(photo: try bench.photo("a photo")) == id)
        #expect(await outbox.run().sent == 1)
        #expect(await bench.s3.objects[OutboxFixture.key("a photo")]?.bytes == Data("a photo".utf8))
        #expect(try bench.files() == [])
    }

    @Test func `an asset that the app has not acknowledged outlasts the database`() async throws {
        let asset: OutboxAsset
        do {
            let outbox = try bench.outbox()
            try await outbox.add(asset: UploadContent("an asset"), reference: "a")
            #expect(await outbox.run().sent == 1)
            asset = try #require(try await outbox.uploadedAssets().first)
        }
        let folder = bench.root.appendingPathComponent(StoreOwner.test.folderName)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent("outbox.sqlite\(suffix)"))
        }
        let outbox = try bench.outbox()
        #expect(try await outbox.uploadedAssets() == [asset])
        try await outbox.acknowledge(asset.id)
        #expect(try bench.files() == [])
    }

    @Test func `a copy with another date outlasts the database`() async throws {
        let id: OutboxItem.ID
        do { id = try await bench.outbox().add(photo: try bench.photo("a photo")) }
        let folder = bench.root.appendingPathComponent(StoreOwner.test.folderName)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)],
            ofItemAtPath: folder.appendingPathComponent("files/\(id.rawValue)").path)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent("outbox.sqlite\(suffix)"))
        }
        #expect(await (try bench.outbox()).run().sent == 1)
    }

    @Test func `a denied request is attempted again, and ends the run`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("a photo"))
        await bench.network.inject("PUT", .failure(.untrusted), times: 1)
        #expect(await outbox.run().stoppedBy != nil)
        #expect(OutboxRetry(CloakroomError(.accessDenied, "no"), failures: 0) == .wait(isSilent: false))
        #expect(try await outbox.failedItems() == [])
    }

    @Test func `a cancelled token is no reason to ask for it again at once`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("an asset"), reference: "a")
        await bench.worker.fail(.cancelled, times: 5)
        let report = await outbox.run()
        #expect(await bench.worker.errors.count == 4)
        #expect(report.nextAttempt != nil && report.unsent.failed == 0)
    }

    @Test func `an image of a chat that may be stored is released before another takes its place`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("a picture"), reference: "a", isChatImage: true)
        await bench.network.inject("PUT", .failure(.interrupted))
        _ = await outbox.run()
        // It has come all the same.
        await bench.s3.put("assets/asset-1", Data("a picture".utf8))
        bench.fake.pass(.seconds(1_000))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.worker.released == ["assets/asset-1"])
        #expect(await bench.s3.objects.keys.sorted() == ["assets/asset-2"])
    }
}
