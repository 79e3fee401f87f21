package import CloakroomAWS
package import Foundation

/// The server's time, from the `Date` field of its responses; the device's until the first response.
///
/// Users can set the clock of a device to any time. The server's clock decides whether credentials have expired;
/// between two responses, time is measured by the monotonic clock.
package actor ServerClock {
    private let runtime: RuntimeDependencies
    /// From the latest response that has had it.
    private(set) var time: ServerTime?
    /// Tells when the time becomes known, and when a response has another one than this clock shows.
    package nonisolated let corrections = ChangeFeed()

    package init(runtime: RuntimeDependencies = RuntimeDependencies()) { self.runtime = runtime }

    /// The server's time now; `nil` while no response has had it.
    package var current: Date? { time?.time(at: runtime.clockReading) }

    /// The server's time now; the device's while no response has had it.
    package var now: Date { current ?? runtime.wallClock() }

    /// - Parameter sent: when the request left, by `runtime.now`.
    package func learn(from response: HTTPResponse, sent: ContinuousClock.Instant) {
        guard let earliest = response["Date"].flatMap(Timestamp.init(http:))?.date else { return }
        let arrival = runtime.clockReading
        let trip = sent.duration(to: arrival.instant) / .seconds(1)
        // A response with so high a latency is too inexact.
        guard (0...30).contains(trip) else { return }
        // The field has whole seconds, and was written somewhere between the two instants.
        let latest = earliest.addingTimeInterval(1 + trip)
        let guess = time?.time(at: arrival) ?? arrival.wallClock
        let isPossible = guess >= earliest && guess <= latest
        let isCorrected = time == nil || !isPossible
        time = ServerTime(isPossible ? guess : earliest.addingTimeInterval((1 + trip) / 2), at: arrival)
        if isCorrected { corrections.send() }
    }
}
