import Foundation

/// The simple model: which device has to have which photos, and what a photo may leave a device for.
///
/// It knows nothing of catalogs, snapshots or intents: only what the apps were promised, what lies on the devices, and what
/// lies in the store.
struct Ledger {
    /// What is known of a device's photo.
    struct Holding {
        /// The app was told that it is there, and has not removed it since.
        var names: Set<PhotoName> = []
        /// The catalog that had the names was lost: any of them may be the only one that the device knows.
        var hasLostNames = false
        var isPinned = false
        var openFiles = 0
        /// The last time that the store said yes to this device.
        var proof: Proof?
        /// An outside rule, or the user's dismissal of the device, took the last copy.
        var isExcused = false
        /// The only file that the device knew of was damaged.
        var isGone = false
    }

    struct Proof {
        var date: Date
        var moment: Int
    }

    struct Device {
        var holdings: [Int: Holding] = [:]
        var keepsEverything = false
        /// The device's clock was set since then: ages by it mean nothing.
        var clockSetAt = -1
        /// Another device may have dismissed this one: what it relies on may be deleted.
        var wasDismissed = false
        /// Two processes with files open: only one of them knows.
        var hasSecondProcess = false
        var local: Set<Int> = []
    }

    var devices: [Device]
    private(set) var remote: Set<Int> = []
    /// Counts everything that happens.
    private(set) var moment = 0
    /// How often a photo left a device that has to have it.
    private(set) var departures = 0
    private var destroyedAt: [Int: Int] = [:]
    private var deletedAt: [Int: Int] = [:]

    /// A proof that is older, in seconds, lets nothing leave.
    static let proofLifetime: TimeInterval = 24 * 3600

    init(devices count: Int) { devices = Array(repeating: Device(), count: count) }

    mutating func tick() { moment += 1 }

    func owns(_ device: Int, _ photo: Int) -> Bool { !(devices[device].holdings[photo]?.names.isEmpty ?? true) }

    /// What a device must be able to open.
    func owned(by device: Int) -> [Int] {
        devices[device].holdings.filter { !$1.names.isEmpty && !$1.isExcused && !$1.isGone }.keys.sorted()
    }

    // MARK: What happens

    mutating func added(_ name: PhotoName, on device: Int) {
        devices[device].holdings[name.photo, default: Holding()].names.insert(name)
        devices[device].holdings[name.photo]?.isExcused = false
        devices[device].holdings[name.photo]?.isGone = false
    }

    mutating func removing(_ name: PhotoName, on device: Int) {
        guard var holding = devices[device].holdings[name.photo] else { return }
        holding.names.remove(name)
        if holding.hasLostNames { holding.names = [] }
        if holding.names.isEmpty { holding = Holding(proof: holding.proof) }
        devices[device].holdings[name.photo] = holding
    }

    /// The store has shown a device that it has a photo.
    mutating func proved(_ photo: Int, to device: Int, at date: Date) {
        devices[device].holdings[photo, default: Holding()].proof = Proof(date: date, moment: moment)
    }

    /// An outside rule took an object, or its bytes.
    mutating func destroyed(_ photo: Int) {
        destroyedAt[photo] = moment
        remote.remove(photo)
        for device in devices.indices where !devices[device].local.contains(photo) {
            devices[device].holdings[photo]?.isExcused = true
        }
    }

    /// A device deleted an object: one that was dismissed may have relied on it.
    mutating func deleted(_ photo: Int) {
        deletedAt[photo] = moment
        for device in devices.indices where !devices[device].local.contains(photo) {
            if devices[device].wasDismissed { devices[device].holdings[photo]?.isExcused = true }
        }
    }

    /// The file of a device has other bytes from now on.
    mutating func damagedFile(_ photo: Int, on device: Int) {
        devices[device].local.remove(photo)
        guard let holding = devices[device].holdings[photo] else { return }
        if !remote.contains(photo) || holding.proof == nil { devices[device].holdings[photo]?.isGone = true }
    }

    /// A device has lost everything.
    mutating func wiped(_ device: Int) { devices[device] = Device() }

    /// What only the catalog knew is lost.
    mutating func lostCatalog(_ device: Int) {
        devices[device].keepsEverything = false
        for photo in devices[device].holdings.keys {
            devices[device].holdings[photo]?.isPinned = false
            devices[device].holdings[photo]?.hasLostNames = true
        }
    }

    // MARK: What must hold

    /// Compares what was promised with what is there.
    ///
    /// - Parameters:
    ///   - local: the photos whose bytes each device has.
    ///   - remote: those that the store has.
    ///   - date: the store's.
    /// - Returns: what is wrong; `nil` when nothing is.
    mutating func check(local: [Set<Int>], remote: Set<Int>, at date: Date) -> String? {
        moment += 1
        self.remote = remote
        for device in devices.indices {
            let left = devices[device].local.subtracting(local[device]).sorted()
            devices[device].local = local[device]
            for photo in left where owns(device, photo) {
                if let wrong = leave(photo, device, at: date) { return wrong }
            }
            for photo in devices[device].holdings.keys.sorted() where owns(device, photo) {
                if remote.contains(photo) {
                    devices[device].holdings[photo]?.isExcused = false
                } else if !local[device].contains(photo), let holding = devices[device].holdings[photo],
                    !holding.isExcused, !holding.isGone
                {
                    return "device \(device) has lost photo \(photo): it is neither there nor in the store"
                }
            }
        }
        return nil
    }

    /// A file that was there is gone.
    private mutating func leave(_ photo: Int, _ device: Int, at date: Date) -> String? {
        guard let holding = devices[device].holdings[photo] else { return nil }
        departures += 1
        let subject = "photo \(photo) left device \(device)"
        if holding.isPinned { return "\(subject), where it was pinned" }
        if holding.openFiles > 0, !devices[device].hasSecondProcess { return "\(subject), where it was open" }
        if devices[device].keepsEverything { return "\(subject), which keeps everything" }
        guard let proof = holding.proof else { return "\(subject) without a proof" }
        let age = date.timeIntervalSince(proof.date)
        if age > Self.proofLifetime, devices[device].clockSetAt < proof.moment {
            return "\(subject) by a proof that is \(Int(age / 3600)) hours old"
        }
        guard !remote.contains(photo) else { return nil }
        let isDestroyed = destroyedAt[photo].map { $0 >= proof.moment } ?? false
        let isGivenUp = devices[device].wasDismissed && deletedAt[photo].map { $0 >= proof.moment } ?? false
        guard isDestroyed || isGivenUp else { return "\(subject) while the store did not have it" }
        devices[device].holdings[photo]?.isExcused = true
        return nil
    }
}
