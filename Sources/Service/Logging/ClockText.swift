import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The time as lines carry it, written anew once a second.
struct ClockText {
    private let now: @Sendable () -> Date
    private var second = -Double.infinity
    private var known = ""

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    var text: String {
        mutating get {
            let time = now()
            let second = time.timeIntervalSince1970.rounded(.down)
            if second != self.second {
                self.second = second
                known = time.wireText
            }
            return known
        }
    }
}
