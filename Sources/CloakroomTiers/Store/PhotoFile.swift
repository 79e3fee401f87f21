public import Foundation

/// A photo that stays on the device as long as this exists, or until ``close()``.
public final class PhotoFile: Sendable {
    public let id: PhotoID
    public let url: URL
    public let byteCount: Int64
    private let lease: Leases.Lease

    init(id: PhotoID, url: URL, byteCount: Int64, leases: Leases) {
        self.id = id
        self.url = url
        self.byteCount = byteCount
        lease = leases.open(id.rawValue)
    }

    /// Lets the photo leave the device again; nothing happens the second time.
    public func close() { lease.end() }
}

/// Which photos are open in this process, from any thread.
///
/// `@unchecked`: a lock guards what changes; `Mutex` is not there on the systems that the kit supports.
final class Leases: @unchecked Sendable {
    private let lock = NSLock()
    private var counts: [Int64: Int] = [:]

    func isOpen(_ id: Int64) -> Bool { lock.withLock { counts[id] != nil } }

    func open(_ id: Int64) -> Lease {
        lock.withLock { counts[id, default: 0] += 1 }
        return Lease(id: id, leases: self)
    }

    /// `@unchecked`: as for the leases.
    final class Lease: @unchecked Sendable {
        private let id: Int64
        private let leases: Leases
        private var isOver = false

        fileprivate init(id: Int64, leases: Leases) {
            self.id = id
            self.leases = leases
        }

        deinit { end() }

        func end() {
            leases.lock.withLock {
                guard !isOver else { return }
                isOver = true
                let rest = leases.counts[id, default: 1] - 1
                leases.counts[id] = rest > 0 ? rest : nil
            }
        }
    }
}
