import CloakroomKit
import CloakroomLoop
import Foundation

@testable import CloakroomTiers

/// What an app does with its photos in a launch.
extension DevicePhotos {
    func rebuild(_ launch: Launch) async throws {
        do {
            let report = try await launch.call { try await $0.rebuildCatalog() }
            Trace.note(device, "photos: \(report.photos) found, \(report.missing) missing")
            (isNew, lostWithFormer) = (false, report.missing)
            for name in expected where oracle.names.contains(name) {
                let id = try await launch.call { try await $0.photo(named: name) }
                Finding.require(
                    id != nil, "\(device): \(name) had left the device, and the new installation does not find it")
                Trace.reached(.photosFoundAgain)
            }
            expected = []
        } catch {
            passes(error, "photos cannot be found again")
            Finding.require(!launch.isLast, "\(device): photos cannot be found again after the faults: \(error)")
        }
    }

    func add(_ launch: Launch) async throws {
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let name = "\(device)_\(count)"
            // Now and then one that another device of the user may have as well, or that was added before.
            let isShared = Int.random(in: 0..<5, using: &random) == 0
            let picture = isShared ? "\(user)/tiers/\(Int.random(in: 0..<3, using: &random))" : name
            let bytes = Data.named(picture, count: isShared ? 3000 : Int.random(in: 1...6000, using: &random))
            // As from an older library.
            let days = Int.random(in: 0..<4, using: &random) == 0 ? Double.random(in: 0...60, using: &random) : nil
            let date = Date() + clockSkew
            count += 1
            let file = URL(fileURLWithPath: "\(folder)/new.jpg")
            try bytes.write(to: file)
            oracle.adding(bytes)
            do {
                _ = try await launch.call {
                    try await $0.add(file, name: name, takenAt: date, addedAt: days.map { date - $0 * 86_400 })
                }
                oracle.accepted(name, bytes)
                hasAccepted = true
            } catch { passes(error, "a photo cannot be added") }
        }
    }

    func look(_ launch: Launch) async {
        for name in oracle.names.shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random)) where !isNew {
            await open(name, launch)
        }
    }

    /// - Returns: whether the photo could be opened.
    @discardableResult
    private func open(_ name: String, _ launch: Launch) async -> Bool {
        do {
            guard let id = try await launch.call({ try await $0.photo(named: name) }) else {
                Finding.end("\(device): there is no \(name), which was accepted")
            }
            let file = try await launch.call { try await $0.open(id) }
            let bytes = try Data(contentsOf: file.url)
            file.close()
            Finding.require(bytes == oracle.photos[name]?.bytes, "\(device): \(name) is opened with other bytes")
            return true
        } catch {
            passes(error, "\(name) cannot be opened")
            return false
        }
    }

    func remove(_ launch: Launch) async {
        guard Int.random(in: 0..<3, using: &random) == 0, oracle.names.count > 1, !isNew,
            let name = oracle.names.randomElement(using: &random)
        else { return }
        oracle.removing(name)
        await removeAgain(launch)
    }

    /// What the user has confirmed, also where a launch before this one ended with it.
    func removeAgain(_ launch: Launch) async {
        for name in oracle.leaving.sorted() where !isNew {
            do {
                if try await launch.call({ try await $0.photo(named: name) }) != nil {
                    try await launch.call { try await $0.remove(name: name) }
                }
                oracle.removed(name)
                Trace.note(device, "has removed \(name)")
            } catch { passes(error, "\(name) cannot be removed") }
        }
    }

    func move(_ launch: Launch) async throws {
        if Int.random(in: 0..<4, using: &random) == 0 {
            let policy = policy()
            do { try await launch.call { try await $0.setPolicy(policy) } } catch { passes(error, "no other policy") }
        }
        let kind = Int.random(in: 0..<12, using: &random)
        let run = [TieringRun.launch, .launch, .background, .manual].randomElement(using: &random)!
        isMoving = true
        defer { isMoving = false }
        if kind == 0 {
            let report = try await launch.call { await $0.restoreAll() }
            if let error = report.stoppedBy { passes(error, "photos are not all restored") }
            for failure in report.failures { passes(failure.error, "a photo is not restored") }
            Finding.require(
                report.missing <= lostWithFormer,
                "\(device): photos are missing: \(report), and \(lostWithFormer) were lost with the former installation"
            )
            return
        }
        let began = VirtualTime.now
        let report = try await launch.call { kind < 3 ? await $0.freeSpace(.perform) : await $0.run(run) }
        guard check(report), kind >= 3, !isNew else { return }
        oracle.ranCompletely(began)
        await giveUpFormer(launch)
    }

    /// - Returns: whether all was done.
    private func check(_ report: TieringReport) -> Bool {
        Trace.note(
            device,
            "photos: \(report.uploaded) uploaded, \(report.evicted) left, \(report.deleted) deleted, \(report.failures.count) failed"
        )
        if report.evicted > 0 { Trace.reached(.photoWentCold) }
        if let error = report.stoppedBy { passes(error, "photos are not all moved") }
        for failure in report.failures { passes(failure.error, "a photo is not moved") }
        Finding.require(report.alarms.isEmpty, "\(device): \(report.alarms)")
        return report.stoppedBy == nil && report.failures.isEmpty && report.inboxFailure == nil
    }

    /// The user knows that a former installation is no more, and this one has published what it took over.
    private func giveUpFormer(_ launch: Launch) async {
        let id = await launch.store.device
        guard let former = published, former != id else {
            published = id
            return
        }
        do {
            try await launch.call { try await $0.dismissDevice(former) }
            (published, hasFormer) = (id, false)
            Trace.note(device, "has given up its former installation")
            Trace.reached(.installationGivenUp)
        } catch { passes(error, "the former installation stays") }
    }
}

extension DevicePhotos {
    /// After the faults: everything works, at once but for what S3 has refused.
    func finish(_ launch: Launch) async throws {
        var isDone = false
        // What S3 has refused is left alone for an hour.
        for attempt in 0..<4 where !isDone {
            if attempt > 0 { try await LoopActor.sleep(for: .seconds(3601)) }
            let began = VirtualTime.now
            let report = await launch.store.run(.manual)
            isDone = check(report)
            if isDone { oracle.ranCompletely(began) }
            Finding.require(report.stoppedBy == nil, "\(device): no run of the tiers works after the faults: \(report)")
        }
        Finding.require(isDone, "\(device): photos are not all moved hours after the faults")
        let isUploaded = await launch.store.policy.uploadTime == .whenAdded
        Finding.require(oracle.leaving.isEmpty, "\(device): photos cannot be removed after the faults")
        for name in oracle.names {
            Finding.require(!isUploaded || oracle.isStored(name), "\(device): \(name) is not in S3 after the faults")
            Finding.require(await open(name, launch), "\(device): \(name) cannot be opened after the faults")
        }
        try await launch.store.releaseLock()
    }
}
