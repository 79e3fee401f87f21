package import CloakroomAWS
package import Foundation

/// The server's time, learned from the `Date` field of its answers; ours while nothing is known.
///
/// People set the clocks of their devices as they like. Whether credentials have ended is for the server's clock to say,
/// and between two answers time is counted by a clock that nobody sets.
package actor ServerClock {
    private let runtime: RuntimeDependencies
    private var reading: (time: Date, at: ContinuousClock.Instant)?

    package init(runtime: RuntimeDependencies = RuntimeDependencies()) { self.runtime = runtime }

    /// Whether a response has told the time.
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
        // A response that was so long on its way says little.
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
