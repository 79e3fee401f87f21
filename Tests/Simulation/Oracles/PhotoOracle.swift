import CloakroomCrypto
import CloakroomLoop
import Foundation

@testable import CloakroomTiers

/// Knows which photos a device's store has accepted, and looks whether each still has a good copy: a file, or an object of S3.
@LoopActor
final class PhotoOracle {
    struct Photo {
        let bytes: Data
        let md5: String
        /// Below the store's folder.
        let file: String

        init(_ bytes: Data) {
            self.bytes = bytes
            md5 = MD5.hash(Array(bytes)).hexadecimal
            file = "photos/\(PhotoRow.fileName(sha256: SHA256.hash(Array(bytes)), format: PhotoFormat.sniff(bytes)))"
        }
    }

    private let device: String
    private let user: String
    private weak var world: World?
    /// Where the store is.
    var folder = ""
    /// By their names.
    private(set) var photos: [String: Photo] = [:]
    /// The removal of these has begun, and may be done.
    private(set) var leaving: Set<String> = []
    /// Whether another device of the user, or a former installation of this one, may need what this one removes.
    var isShared = false
    /// Photos whose adding has begun and did not end, by MD5: the store may have them all the same.
    private var unsure: [String: Int] = [:]
    /// Keys that are to go from S3, and since when that may be announced there.
    private var doomed: [String: UInt64?] = [:]

    init(_ device: String, of user: String, in world: World) {
        (self.device, self.user, self.world) = (device, user, world)
    }

    /// Of photos that are there, whatever is under way.
    var names: [String] { photos.keys.filter { !leaving.contains($0) }.sorted() }

    // MARK: What happens

    func adding(_ bytes: Data) {
        let photo = Photo(bytes)
        unsure[photo.md5, default: 0] += 1
        doomed[key(photo)] = nil
    }

    func accepted(_ name: String, _ bytes: Data) {
        let photo = Photo(bytes)
        photos[name] = photo
        unsure[photo.md5, default: 1] -= 1
        look()
    }

    func removing(_ name: String) { leaving.insert(name) }

    func removed(_ name: String) {
        leaving.remove(name)
        guard let photo = photos.removeValue(forKey: name) else { return }
        guard !isShared, unsure[photo.md5, default: 0] == 0, !photos.values.contains(where: { $0.md5 == photo.md5 })
        else { return }
        doomed[key(photo)] = .some(nil)
    }

    /// The store's folder is lost: what was on the device alone goes with it. Photos that had left it are in a snapshot.
    ///
    /// - Returns: how many there are that must come back.
    func lost() -> Int {
        photos = photos.filter { !leaving.contains($0.key) && !hasFile($0.value) && isStored($0.value) }
        leaving = []
        doomed = [:]
        return photos.count
    }

    /// The announcement of a deletion, by the store's clock, in nanoseconds, and an hour.
    private static let announcement: UInt64 = 49 * 3_600_000_000_000

    /// A run of the store has done all that there was to do.
    ///
    /// - Parameter began: in nanoseconds since 1970.
    func ranCompletely(_ began: UInt64) {
        guard !isShared else { return }
        for (key, announced) in doomed.sorted(by: { $0.key < $1.key }) {
            guard let announced else {
                doomed[key] = VirtualTime.now
                continue
            }
            guard began >= announced + Self.announcement else { continue }
            Finding.require(
                world?.store.s3.exists(key) == false,
                "\(device) has removed \(key), and S3 has it still after two days")
            Trace.reached(.photoDeleted)
            doomed[key] = nil
        }
    }

    // MARK: What must hold

    /// At any moment.
    func look() {
        for name in names {
            guard let photo = photos[name] else { continue }
            Finding.require(
                isStored(photo) || hasGoodFile(photo),
                "\(name), which \(device) has accepted, is in no file and not in S3")
        }
    }

    private func hasFile(_ photo: Photo) -> Bool { FileManager.default.fileExists(atPath: "\(folder)/\(photo.file)") }

    func isStored(_ name: String) -> Bool { photos[name].map(isStored) ?? false }

    private func isStored(_ photo: Photo) -> Bool {
        guard let truth = world?.store.s3.truth(key(photo)) else { return true }
        return truth.exists && truth.entityTag == "\"\(photo.md5)\""
    }

    private func hasGoodFile(_ photo: Photo) -> Bool {
        FileManager.default.contents(atPath: "\(folder)/\(photo.file)") == photo.bytes
    }

    private func key(_ photo: Photo) -> String { "photos/\(user)/tiers/\(photo.md5).dat" }
}

extension Oracle {
    func lookAtPhotosInTiers() {
        for device in world?.devices ?? [] { device.photosInTiers?.oracle.look() }
    }
}
