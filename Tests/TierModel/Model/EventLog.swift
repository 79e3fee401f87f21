import CloakroomKit
import Foundation
import Synchronization

/// What happened since the last look, in its order.
final class EventLog: Sendable {
    enum Event: Sendable {
        /// The store said that it has a photo.
        case proved(photo: Int, device: Int, Date)
        /// The store deleted what has this key.
        case deleted(key: String)
        case ended(Started, Ending)
        /// A device was killed in the middle of a step; what was there then was copied.
        case killed(device: Int, folder: URL)
    }

    /// An operation that was begun.
    struct Started: Sendable {
        var device: Int
        var operation: Operation
        /// Whether a removal of the same name was under way.
        var overlapsRemoval: Bool
        /// How many operations of the device had removed that name, and changed the policy.
        var removals: Int
        var policies: Int
    }

    enum Ending: Sendable {
        case done
        /// A photo was opened, and has these bytes.
        case opened(photo: Int?)
        case failed(CloakroomError)
        /// The store throws nothing else than ``CloakroomError``.
        case failedOtherwise(String)
    }

    private let events = Mutex<[Event]>([])

    func append(_ event: Event) { events.withLock { $0.append(event) } }

    func takeAll() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
