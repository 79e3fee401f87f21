import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation

/// The devices, the store and the model of one schedule.
final class Fleet {
    let store = ScriptedStore()
    let turnstile = Turnstile()
    let log = EventLog()
    let root: URL
    let sources: URL
    var phones: [Phone] = []
    var ledger: Ledger
    private let jobs = SerialJobs.shared

    /// - Parameters:
    ///   - root: a new folder.
    ///   - sources: with a file for each photo, named by its number.
    init(devices: Int, root: URL, sources: URL) throws {
        self.root = root
        self.sources = sources
        ledger = Ledger(devices: devices)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        phones = (0..<devices).map { Phone($0, in: root) }
        for phone in phones { try launch(phone) }
    }

    /// Begins a process of a device.
    func launch(_ phone: Phone) throws {
        let (index, life) = (phone.index, phone.life)
        let (store, turnstile, log, clock) = (store, turnstile, log, phone.clock)
        let tier = ScriptedTier(store, device: "phone\(index)") { call, moment in
            if moment == .after { Self.note(call, of: index, store, log) }
            switch call.kind {
            // Known without the network.
            case .identity: break
            default: try await turnstile.pass("phone \(index): \(call.kind) \(call.subject), \(moment)", life)
            }
        }
        let thumbnailer = ScriptedThumbnailer { _ in
            do { try await turnstile.pass("phone \(index): thumbnail", life, worksOffline: true) } catch {
                if life.isOver { throw CancellationError() }
            }
        }
        let photos = try TieredPhotoStore(
            folder: phone.folder, tier: tier, thumbnailer: thumbnailer, policy: RetentionPolicy(),
            conditions: phone.conditions, clock: { clock.now }, step: { _ in life.step() },
            // A copy of the folder is what a kill leaves, on the same phone.
            place: { _ in "phone" })
        phone.processes.append(PhoneProcess(life, photos))
    }

    /// What the model wants to know of a call that the store has done.
    private static func note(_ call: TierCall, of device: Int, _ store: ScriptedStore, _ log: EventLog) {
        switch call.kind {
        case .verify:
            guard let bytes = store.account().objects[call.subject]?.bytes, let photo = Photos.numbers[bytes] else {
                return
            }
            log.append(.proved(photo: photo, device: device, store.clock.now))
        case .delete: log.append(.deleted(key: call.subject))
        default: break
        }
    }

    // MARK: Time

    /// Lets everything go on that waits for nothing but the processor.
    func runUntilIdle() { jobs.runUntilIdle() }

    /// Lets all calls go on, one after the other.
    ///
    /// - Returns: what is wrong after one of them.
    func drain() -> String? {
        for _ in 0..<5000 {
            if let wrong = settle() { return wrong }
            if turnstile.release(0, .success) == nil {
                return phones.contains { $0.life.isBusy } ? waitForOthers() : nil
            }
        }
        return "the operations come to no end"
    }

    /// Of what waits for nothing of the schedule's.
    private func waitForOthers() -> String? {
        for _ in 0..<2000 {
            usleep(1000)
            if let wrong = settle() { return wrong }
            if turnstile.count > 0 { return drain() }
            if !phones.contains(where: { $0.life.isBusy }) { return nil }
        }
        return "an operation waits for ever"
    }

    // MARK: Ends of processes

    /// Ends the processes of a device, as they are now.
    func kill(_ phone: Phone) throws {
        let copy = phone.nextFolder()
        Phone.copy(phone.folder, to: copy)
        phone.life.end()
        try bury(phone, folder: copy)
    }

    /// Lets the killed processes come to their end where nothing of it counts, and begins a new one.
    func bury(_ phone: Phone, folder: URL) throws {
        let wasOffline = phone.life.isOffline
        for _ in 0..<1000 {
            turnstile.releaseDead()
            runUntilIdle()
            if !phone.life.isBusy { break }
        }
        phone.processes = []
        phone.move(to: folder)
        phone.life = ProcessLife(device: phone.index)
        phone.life.setOffline(wasOffline)
        phone.removalsUnderWay = [:]
        ledger.devices[phone.index].hasSecondProcess = false
        try launch(phone)
    }

    // MARK: What the model is told

    var remotePhotos: Set<Int> {
        Set(
            store.account().objects.compactMap { key, object in
                Photos.numbers[object.bytes].flatMap { Photos.keys[$0] == key ? $0 : nil }
            })
    }

    /// Runs what is ready, and compares everything with the model.
    ///
    /// - Returns: what is wrong.
    func settle() -> String? {
        runUntilIdle()
        for event in log.takeAll() {
            ledger.tick()
            do { if let wrong = try note(event) { return wrong } } catch { return "a device does not start: \(error)" }
        }
        for phone in phones {
            for photo in Photos.bytes.indices where ledger.devices[phone.index].holdings[photo] != nil {
                ledger.devices[phone.index].holdings[photo]?.openFiles =
                    phone.processes.first?.openFiles(of: photo) ?? 0
            }
        }
        return ledger.check(local: phones.map { $0.localPhotos() }, remote: remotePhotos, at: store.clock.now)
    }

    private func note(_ event: EventLog.Event) throws -> String? {
        switch event {
        case .proved(let photo, let device, let date): ledger.proved(photo, to: device, at: date)
        case .deleted(let key):
            for photo in ledger.remote where Photos.keys[photo] == key { ledger.deleted(photo) }
        case .killed(let device, let folder): try bury(phones[device], folder: folder)
        case .ended(let started, let ending): return ended(started, ending)
        }
        return nil
    }
}
