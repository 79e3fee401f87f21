import CloakroomAWS
import CloakroomKit
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

/// A device with an app that backs up photos and keeps images of conversations alive, over days.
@LoopActor
final class Device {
    let name: String
    let user: String
    private let world: World
    private let folder: String
    private var random: SeededGenerator
    /// Of its clock, beside the world's, in seconds.
    private let skew: Double
    private var photos: [URL] = []
    private var images: [RenewableAsset] = []
    /// What the app has handed to its queue, and keeps no copy of: photos' bytes, and images by their references.
    private var handedOver: [Data] = []
    private var references: Set<String> = []
    private var arrived: Set<String> = []
    private var token: String?
    private var wasRefused = false
    private var hadFailures = false
    private var loops: SeededGenerator
    /// Later ones would keep the device from its last vends, for a window.
    private var lastLoop: UInt64 = 0
    private let storage: DeviceStorage
    /// Every fourth device keeps photos in tiers: some of these are of one user.
    let photosInTiers: DevicePhotos?

    init(_ name: String, of user: String, _ draw: Draw, in world: World) throws {
        self.name = name
        self.user = user
        self.world = world
        folder = "\(world.folder)/\(name)"
        random = draw.generator(name)
        loops = draw.generator("\(name) crashLoop")
        let isWrong = Int.random(in: 0..<4, using: &random) == 0
        let seconds = Double.random(in: -172_800...172_800, using: &random).rounded()
        skew = isWrong && !Fault.wrongClock.isLeftOut ? seconds : 0
        try FileManager.default.createDirectory(atPath: "\(folder)/photos", withIntermediateDirectories: true)
        let hasTiers = name.split(separator: "_").last.flatMap { Int($0) }?.isMultiple(of: 4) == true
        photosInTiers = hasTiers ? DevicePhotos(name, of: user, draw, clockSkew: skew, in: world) : nil
        storage = try DeviceStorage(name, in: folder, draw, photos: photosInTiers)
        Trace.note(name, "of \(user), its clock \(Int(skew)) s off")
    }

    // MARK: Days

    func start(until end: UInt64) {
        lastLoop = end - 2 * 3_600_000_000_000
        LoopActor.spawn { [self] in
            while true {
                // Usually a few launches a day, now and then some days without one.
                let isAway = Int.random(in: 0..<20, using: &random) == 0
                let hours =
                    isAway ? Double.random(in: 24...120, using: &random) : Double.random(in: 0.2...10, using: &random)
                await sleep(hours * 3600)
                guard VirtualTime.now < end else { return }
                if Int.random(in: 0..<20, using: &loops) == 0 { await crashAgainAndAgain() }
                await launch()
            }
        }
    }

    /// After all faults: everything works, at once.
    func finish() async {
        let process = DeviceProcess(name, in: world)
        // After a revocation the user has to sign in again.
        token = nil
        await live(process, isLast: true)
        process.kill()
        // Each photo is looked for, sent and got again; each image uploaded, sent and renewed.
        let normal =
            20 + 3 * (photos.count + handedOver.count) + 3 * (images.count + references.count)
            + (photosInTiers?.normalRequests ?? 0)
        Finding.require(process.requests <= 3 * normal, "\(name) sends \(process.requests) requests when all is well")
    }

    private func sleep(_ seconds: Double) async { try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000))) }

    /// Launches that end as soon as they have credentials: more than its limit has.
    func crashAgainAndAgain() async {
        guard !Fault.crashLoop.isLeftOut, VirtualTime.now < lastLoop else { return }
        Trace.note(name, "crashes again and again")
        for _ in 0..<(world.rules.vends <= 20 ? 2 * world.rules.vends : world.rules.vends) + 4 {
            let process = DeviceProcess(name, in: world)
            if let app = try? Cloakroom(
                configuration: configuration(process), user: user, tokens: Tokens(device: self))
            {
                // Not by what the last launch has left.
                _ = try? await app.client.vendCredentials()
            }
            process.kill()
            await sleep(Double.random(in: 0.5...3, using: &loops))
        }
    }

    private func launch() async {
        let process = DeviceProcess(name, in: world)
        let isOffline = Int.random(in: 0..<10, using: &random) == 0
        process.isOffline = isOffline && !Fault.offline.isLeftOut
        Trace.note(name, process.isOffline ? "is launched without a network" : "is launched")
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let end = Once { continuation.resume() }
            process.end = end
            storage.begin(process)
            LoopActor.spawn { [self] in
                await live(process, isLast: false)
                end.call()
            }
            guard Int.random(in: 0..<4, using: &random) == 0 else { return }
            // The system ends it, or its user does.
            let milliseconds = Int.random(in: 1...5000, using: &random)
            guard !Fault.appKilled.isLeftOut else { return }
            EventPoller.shared.schedule(after: .milliseconds(milliseconds)) { [self] in
                guard end.isOpen else { return }
                process.kill()
                simulation_unlock("\(self.storage.home)/")
                Trace.note(name, "is killed")
                Trace.reached(.appKilled)
                // What it had begun before its next wait is done; nothing of it goes on after that.
                EventPoller.shared.schedule(after: .milliseconds(1)) { end.call() }
            }
        }
        process.kill()
        do { try storage.end() } catch { Finding.end("\(name): its files cannot be moved: \(error)") }
        photosInTiers?.launchEnded(in: storage.home)
    }

    // MARK: The app

    private func live(_ process: DeviceProcess, isLast: Bool) async {
        do {
            let cloakroom = try Cloakroom(
                configuration: configuration(process), user: user, tokens: Tokens(device: self))
            try addPhotos()
            await backUp(cloakroom, isLast: isLast)
            if isLast || Int.random(in: 0..<3, using: &random) == 0 { await addImage(cloakroom, isLast: isLast) }
            if isLast || Bool.random(using: &random) { try await share(cloakroom, process, isLast: isLast) }
            try await renew(cloakroom, isLast: isLast)
            if isLast || Int.random(in: 0..<8, using: &random) == 0 { try await restore(cloakroom, isLast: isLast) }
            try await photosInTiers?.live(process, cloakroom, home: storage.home, isLast: isLast)
        } catch { Finding.end("\(name): the app's part of a launch failed: \(error)") }
    }

    private func configuration(_ process: DeviceProcess) -> Cloakroom.Configuration {
        let transport = DeviceTransport(process: process)
        var configuration = Cloakroom.Configuration(
            endpoint: URL(string: World.apiURL)!, transport: transport, backgroundTransport: transport)
        configuration.assetBaseURLs = [URL(string: World.assetsURL)!]
        configuration.assetRetention = .seconds(world.rules.retentionDays * 86_400)
        configuration.s3Endpoint = URL(string: World.s3URL)
        configuration.folder = URL(fileURLWithPath: "\(storage.home)/app", isDirectory: true)
        configuration.cacheFolder = URL(fileURLWithPath: "\(storage.home)/cache", isDirectory: true)
        let skew = skew
        configuration.runtime = RuntimeDependencies(
            wallClock: { Date() + skew },
            sleep: { duration in
                try await Task.sleep(for: duration)
                await process.check()
            })
        return configuration
    }

    private func addPhotos() throws {
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let file = URL(fileURLWithPath: "\(folder)/photos/\(photos.count).jpg")
            // Now and then the same picture twice, as messengers keep them.
            let number = photos.count > 2 && Int.random(in: 0..<8, using: &random) == 0 ? 0 : photos.count
            try Data.named("\(name)/\(number)", count: Int.random(in: 1...40_000, using: &random)).write(to: file)
            photos.append(file)
        }
    }

    private func backUp(_ cloakroom: Cloakroom, isLast: Bool) async {
        let files = photos
        let report = await cloakroom.backup.backUp(files)
        Trace.note(
            name,
            "backup: \(report.backedUp) new, \(report.alreadyThere) there, \(report.failures.count) failed, \(report.remaining) left\(report.stoppedBy.map { ", stopped by \($0.code)" } ?? "")"
        )
        let failed = Set(report.failures.map(\.file))
        if report.isComplete, wasRefused {
            wasRefused = false
            Trace.reached(.tokenReplaced)
        }
        if report.isComplete, abs(skew) >= 3600 { Trace.reached(.wrongClock) }
        if report.stoppedBy == nil, report.remaining == 0 {
            world.oracle.safe(files.filter { !failed.contains($0) }, of: user, device: name)
        }
        if isLast { Finding.require(report.isComplete, "\(name): no backup is complete after the faults: \(report)") }
    }

    private func addImage(_ cloakroom: Cloakroom, isLast: Bool) async {
        let number = images.count
        do {
            let image = try await cloakroom.uploads.uploadGroupImage(
                UploadContent(Data.named("\(name)/image/\(number)", count: 2000), contentType: "image/jpeg"),
                conversationID: "c_\(name)_\(number)")
            images.append(image)
            world.oracle.references(image.url, device: name)
            Trace.note(name, "has uploaded \(image.url.lastPathComponent)")
        } catch {
            Trace.note(name, "an upload failed: \((error as? CloakroomError).map { "\($0.code)" } ?? "\(error)")")
            if isLast { Finding.end("\(name): no upload works after the faults: \(error)") }
        }
    }

    /// Hands photos and images to the app's queue, and lets it send what it has.
    private func share(_ cloakroom: Cloakroom, _ process: DeviceProcess, isLast: Bool) async throws {
        let outbox = try cloakroom.outbox()
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let bytes = Data.named(
                "\(name)/shared/\(handedOver.count)", count: Int.random(in: 1...20_000, using: &random))
            let file = URL(fileURLWithPath: "\(folder)/shared.jpg")
            try bytes.write(to: file)
            try await outbox.add(photo: file)
            await process.check()
            handedOver.append(bytes)
            try FileManager.default.removeItem(at: file)
        }
        if Bool.random(using: &random) {
            let reference = "\(name)_\(references.count)"
            try await outbox.add(
                asset: UploadContent(Data.named(reference, count: 1500), contentType: "image/jpeg"),
                reference: reference)
            await process.check()
            references.insert(reference)
        }
        // What S3 has refused for good waits until the app's user wants it sent.
        if isLast { for item in try await outbox.failedItems() { try await outbox.retry(item.id) } }
        var report = await outbox.run()
        // What failed waits for its next attempt.
        for _ in 0..<48 where isLast && !report.isComplete {
            await sleep(1800)
            report = await outbox.run()
        }
        for asset in try await outbox.uploadedAssets() {
            if arrived.insert(asset.reference).inserted {
                images.append(.groupImage(url: asset.assetURL, conversationID: asset.reference))
                world.oracle.references(asset.assetURL, device: name)
            }
            try await outbox.acknowledge(asset.id)
        }
        Trace.note(
            name,
            "queue: \(report.sent) sent, \(report.unsent.items) wait\(report.stoppedBy.map { ", stopped by \($0.code)" } ?? "")"
        )
        guard report.isComplete else {
            hadFailures = true
            Finding.require(!isLast, "\(name): the queue is not empty a day after the faults: \(report)")
            return
        }
        Trace.reached(.queueEmpty)
        if hadFailures { Trace.reached(.queueWentOn) }
        hadFailures = false
        for bytes in handedOver { world.oracle.stored(bytes, of: user, device: name) }
        Finding.require(
            references == arrived, "\(name): the queue is empty, and \(references.subtracting(arrived)) never came")
    }

    private func renew(_ cloakroom: Cloakroom, isLast: Bool) async throws {
        // A conversation is deleted, and its image with it.
        if !isLast, images.count > 2, Int.random(in: 0..<6, using: &random) == 0 {
            world.oracle.forgets(images.removeFirst().url, device: name)
        }
        let images = images
        let renewals = try cloakroom.renewals(of: AssetCollection(images))
        let report = isLast ? await renewals.forceRenewal() : await renewals.renewIfNeeded()
        if report.requests > 0 || report.error != nil {
            Trace.note(
                name,
                "renewal: \(report.renewed) renewed, \(report.notFound.count) not found, \(report.failed.count) failed, \(report.notSent) not sent\(report.error.map { ", \($0.code)" } ?? "")"
            )
        }
        Finding.require(report.notFound.isEmpty, "\(name): images it refers to are gone: \(report.notFound)")
        Finding.require(
            report.refused.isEmpty || world.storeDenies, "\(name): the worker refuses to renew \(report.refused)")
        if isLast {
            Finding.require(
                report.end == .finished && report.failed.isEmpty && report.renewed == images.count,
                "\(name): no renewal is complete after the faults: \(report)")
        }
    }

    private func restore(_ cloakroom: Cloakroom, isLast: Bool) async throws {
        let target = URL(fileURLWithPath: "\(folder)/restored", isDirectory: true)
        try? FileManager.default.removeItem(at: target)
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        let report = await cloakroom.restore.restore(to: target)
        Trace.note(name, "restore: \(report.isComplete ? "complete" : "incomplete")")
        if isLast { Finding.require(report.isComplete, "\(name): no restore is complete after the faults: \(report)") }
        guard report.isComplete else { return }
        let restored = Set(
            try FileManager.default.contentsOfDirectory(at: target, includingPropertiesForKeys: nil)
                .map { try Data(contentsOf: $0) })
        for photo in world.oracle.safePhotos(of: name) {
            Finding.require(
                restored.contains(try Data(contentsOf: photo)),
                "\(name): \(photo.lastPathComponent) is not among what was restored")
        }
    }

    // MARK: Signing in

    private struct Tokens: TokenProvider {
        let device: Device

        func token() async throws -> String { await device.currentToken() }
        func token(ofUser userID: String) async throws -> String { await device.currentToken() }
        func tokenRefused(_ token: String) async { await device.forget(token) }
    }

    private func currentToken() -> String {
        let token = token ?? world.token(of: user, device: name)
        self.token = token
        return token
    }

    private func forget(_ token: String) {
        Trace.note(name, "its token was refused")
        wasRefused = true
        if self.token == token { self.token = nil }
    }
}

/// Something that happens once.
@LoopActor
final class Once {
    private var body: (() -> Void)?

    init(_ body: @escaping () -> Void) { self.body = body }

    var isOpen: Bool { body != nil }

    func call() {
        body?()
        body = nil
    }
}
