package import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

import CloakroomAWS
package import CloakroomServer

/// What came from STS or S3 for an unsigned request, and when by our clock.
package struct EndpointObservation: Sendable {
    package let name: String
    package let url: String
    package let result: Result<UpstreamResponse, TransportError>
    package let sent: Date
    package let received: Date

    package init(
        name: String, url: String, result: Result<UpstreamResponse, TransportError>, sent: Date, received: Date
    ) {
        self.name = name
        self.url = url
        self.result = result
        self.sent = sent
        self.received = received
    }
}

/// Checks the endpoints of STS and S3, and the clocks.
package enum EndpointFindings {
    private static let check = CheckName.endpoints

    /// - Parameter tokens: they say how far a token's issuer may be from us.
    package static func all(_ observation: EndpointObservation, tokens: Settings.Tokens) -> [Finding] {
        let response: UpstreamResponse
        switch observation.result {
        case .success(let answer): response = answer
        case .failure(let error): return [unreachable(observation, error)]
        }
        return [transport(observation)]
            + (skew(observation, response).map { [clock(observation, $0, tokens.smallestLeeway)] } ?? [])
    }

    private static func unreachable(_ observation: EndpointObservation, _ error: TransportError) -> Finding {
        let (found, advice) =
            switch error {
            case .untrusted:
                (
                    "the certificate of \(observation.url) is not trusted",
                    "fix the endpoint's name, or give its authority as aws.certificateAuthorities"
                )
            case .unreachable, .notAllowedNow:
                ("\(observation.url) is unreachable", "fix the endpoint, the name server or the firewall")
            case .timeout:
                ("\(observation.url) does not respond in time", "look at the route, the proxy and the firewall")
            case .interrupted:
                (
                    "\(observation.url) breaks off the connection, or does not speak HTTP",
                    "fix the endpoint: host, port, scheme and TLS version (1.2 at least)"
                )
            case .tooLarge, .cancelled, .invalidRequest:
                ("\(observation.url) does not speak HTTP", "fix the endpoint: host, port and scheme")
            }
        return check.error("\(observation.name): \(found)", why: "nothing can be vended or renewed", advice: advice)
    }

    private static func transport(_ observation: EndpointObservation) -> Finding {
        guard !observation.url.hasPrefix("https://") else {
            return check.ok("\(observation.name) responds at \(observation.url), its certificate verified")
        }
        guard WebOrigin(observation.url)?.isLoopback != true else {
            return check.ok("\(observation.name) responds at \(observation.url), on this machine")
        }
        return check.warning(
            "\(observation.name) is reached in plain text: \(observation.url)",
            why: "an attacker on the path reads what is vended, and can send responses in its place",
            advice: "give an https endpoint")
    }

    /// Theirs minus ours, in seconds; the header has whole ones, and lies somewhere in the exchange.
    static func skew(_ observation: EndpointObservation, _ response: UpstreamResponse) -> Double? {
        guard let theirs = response.fields["date"].flatMap({ Timestamp(http: $0) })?.date else { return nil }
        return ClockDifference(theirs: theirs, sent: observation.sent, received: observation.received)?.certain
    }

    private static func clock(_ observation: EndpointObservation, _ skew: Double, _ leeway: Duration) -> Finding {
        let seconds = abs(Int(skew.rounded()))
        guard seconds > 2 else { return check.ok("our clock is \(observation.name)'s") }
        let found = "our clock is \(seconds) s \(skew > 0 ? "behind" : "ahead of") \(observation.name)'s"
        let advice = "let chrony or systemd-timesyncd keep the time, and look why they do not"
        guard Duration.seconds(seconds) > leeway else {
            return check.warning(
                found, why: "tokens and signatures hold only between two moments", advice: advice)
        }
        return check.error(
            found,
            why: "tokens are refused that are good, or taken that have ended; from 15 minutes on AWS refuses us",
            advice: advice)
    }
}
