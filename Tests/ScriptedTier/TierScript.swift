package import CloakroomKit
import Synchronization

/// The faults of one ``ScriptedTier``: each strikes once, the next call of its kind.
package final class TierScript: Sendable {
    package enum Fault: Sendable, Equatable {
        /// The request never reaches the store.
        case failBefore(CloakroomError)
        /// The store does it, and the response is lost.
        case failAfter(CloakroomError)
        /// Of a fetch or a thumbnail: one bit is another on its way, and the tier notices.
        case wrongBytes
        /// The same, and the tier says that all is well.
        case wrongBytesUnnoticed
        /// Of a fetch or a listing: the half arrives, then the connection is lost. What a fetch has got stays in its file.
        case half(CloakroomError)
    }

    private let faults = Mutex<[TierCall.Kind: [Fault?]]>([:])

    package init() {}

    /// - Parameter skipping: so many calls of the kind first, that succeed.
    package func add(_ fault: Fault, on kind: TierCall.Kind, skipping: Int = 0, times: Int = 1) {
        faults.withLock {
            $0[kind, default: []] += Array(repeating: nil, count: skipping) + Array(repeating: fault, count: times)
        }
    }

    package func removeAll() { faults.withLock { $0 = [:] } }

    func next(_ kind: TierCall.Kind) -> Fault? {
        faults.withLock { faults in
            guard var rest = faults[kind], !rest.isEmpty else { return nil }
            defer { faults[kind] = rest }
            return rest.removeFirst()
        }
    }
}

extension CloakroomError {
    /// What a phone has most of the time.
    package static let scriptedOutage = CloakroomError(.unreachable, "the scripted network is down")
}
