import Foundation

/// Credentials held, and how much of their lifetime has passed by the server's clock.
struct HeldCredentials: Sendable {
    enum Freshness: Sendable, CaseIterable {
        /// Nothing to do.
        case fresh
        /// Half of their lifetime has passed: time to get others, while these are used.
        case due
        /// About to end: worth waiting for others.
        case urgent
        case ended
    }

    /// How long before the end callers wait for others; never more than half of the lifetime, so that short-lived ones
    /// are not refreshed on each call.
    static let longestMargin: TimeInterval = 300

    let vended: VendedCredentials
    /// In the server's time. The response does not say when they were issued.
    private(set) var received: Date
    private(set) var serverTime: ServerTime

    /// Just received.
    init(_ vended: VendedCredentials, at serverTime: ServerTime) {
        self.init(vended, received: serverTime.date, serverTime: serverTime)
    }

    init(_ vended: VendedCredentials, received: Date, serverTime: ServerTime) {
        self.vended = vended
        self.received = received
        self.serverTime = serverTime
    }

    func freshness(at reading: ClockReading) -> Freshness {
        let lifetime = max(0, vended.expiration.timeIntervalSince(received))
        if serverTime.time(at: reading) >= vended.expiration { return .ended }
        let left = vended.expiration.timeIntervalSince(serverTime.latestTime(at: reading))
        if left <= min(Self.longestMargin, lifetime / 2) { return .urgent }
        return left <= lifetime / 2 ? .due : .fresh
    }

    /// The server's clock was misjudged, when these came and ever since.
    mutating func correctClock(by seconds: TimeInterval, at reading: ClockReading) {
        received.addTimeInterval(seconds)
        serverTime = ServerTime(serverTime.time(at: reading).addingTimeInterval(seconds), at: reading)
    }

    /// How long they have been in use.
    func age(at reading: ClockReading) -> TimeInterval { serverTime.time(at: reading).timeIntervalSince(received) }
}
