package import CloakroomAWS
package import Foundation

/// The server's time, from the `Date` field of its responses; the device's until the first response.
///
/// Users can set the clock of a device to any time. The server's clock decides whether credentials have expired;
/// between two responses, time is measured by the monotonic clock.
package actor ServerClock {
    private let runtime: RuntimeDependencies
    private var reading: (time: Date, at: ContinuousClock.Instant)?

    package init(runtime: RuntimeDependencies = RuntimeDependencies()) { self.runtime = runtime }

    /// Whether a response has set the time.
    package var isKnown: Bool { reading != nil }

    package var now: Date {
        guard let reading else { return runtime.wallClock() }
        return reading.time.addingTimeInterval(reading.at.duration(to: runtime.now()).seconds)
    }

    /// - Parameter sent: when the request left, by `runtime.now`.
    package func learn(from response: HTTPResponse, sent: ContinuousClock.Instant) {
        guard let earliest = response["Date"].flatMap(Timestamp.init(http:))?.date else { return }
        let arrival = runtime.now()
        let trip = sent.duration(to: arrival).seconds
        // A response with so high a latency is too inexact.
        guard (0...30).contains(trip) else { return }
        // The field has whole seconds, and was written somewhere between the two instants.
        let latest = earliest.addingTimeInterval(1 + trip)
        let guess = now
        if guess >= earliest, guess <= latest {
            reading = (guess, arrival)
        } else {
            reading = (earliest.addingTimeInterval((1 + trip) / 2), arrival)
        }
    }
}

extension Duration {
    /// With a fraction.
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
