import Foundation

/// The parts that were made for the user, which have to end when the user signs out.
///
/// `@unchecked`: a lock guards what changes; `Mutex` is not there on the systems that the kit supports.
final class OpenParts: @unchecked Sendable {
    private let lock = NSLock()
    private var outbox: Outbox?
    private var images: [ImageLoader] = []
    private var renewals: [AssetRenewalManager] = []

    func keep(_ outbox: Outbox) { lock.withLock { self.outbox = outbox } }
    func keep(_ images: ImageLoader) { lock.withLock { self.images.append(images) } }
    func keep(_ renewals: AssetRenewalManager) { lock.withLock { self.renewals.append(renewals) } }

    /// All of them, once.
    func take() -> (outbox: Outbox?, images: [ImageLoader], renewals: [AssetRenewalManager]) {
        lock.withLock {
            defer { (outbox, images, renewals) = (nil, [], []) }
            return (outbox, images, renewals)
        }
    }
}
