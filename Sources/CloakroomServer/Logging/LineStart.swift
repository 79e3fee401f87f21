import CloakroomWire
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What every line begins with, written anew once a second: an open object with the time.
struct LineStart {
    private let now: @Sendable () -> Date
    private var second = -Double.infinity
    private var known: [UInt8] = []

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    var text: [UInt8] {
        mutating get {
            let time = now()
            let second = time.timeIntervalSince1970.rounded(.down)
            if second != self.second {
                self.second = second
                known = Self.text(at: time)
            }
            return known
        }
    }

    static func text(at time: Date) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        writer.member("time", time)
        return writer.bytes
    }
}
