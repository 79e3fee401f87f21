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
    package static func all(_ answer: EndpointObservation, tokens: Settings.Tokens) -> [Finding] {
        let response: UpstreamResponse
        switch answer.result {
        case .success(let answer): response = answer
        case .failure(let error): return [unreachable(answer, error)]
        }
        return [transport(answer)] + (skew(answer, response).map { [clock(answer, $0, tokens.smallestLeeway)] } ?? [])
    }

    private static func unreachable(_ answer: EndpointObservation, _ error: TransportError) -> Finding {
        let (found, advice) =
            switch error {
            case .untrusted:
                (
                    "the certificate of \(answer.url) is not trusted",
                    "fix the endpoint's name, or give its authority as aws.certificateAuthorities"
                )
            case .unreachable: ("\(answer.url) is unreachable", "fix the endpoint, the name server or the firewall")
            case .timeout: ("\(answer.url) does not respond in time", "look at the route, the proxy and the firewall")
            case .interrupted:
                (
                    "\(answer.url) breaks off the connection, or does not speak HTTP",
                    "fix the endpoint: host, port, scheme and TLS version (1.2 at least)"
                )
            case .tooLarge, .cancelled, .invalidRequest:
                ("\(answer.url) does not speak HTTP", "fix the endpoint: host, port and scheme")
            }
        return check.error("\(answer.name): \(found)", why: "nothing can be vended or renewed", advice: advice)
    }

    private static func transport(_ answer: EndpointObservation) -> Finding {
        guard !answer.url.hasPrefix("https://") else {
            return check.ok("\(answer.name) responds at \(answer.url), its certificate verified")
        }
        guard WebOrigin(answer.url)?.isLoopback != true else {
            return check.ok("\(answer.name) responds at \(answer.url), on this machine")
        }
        return check.warning(
            "\(answer.name) is reached in plain text: \(answer.url)",
            why: "an attacker on the path reads what is vended, and can send responses in its place",
            advice: "give an https endpoint")
    }

    /// Theirs minus ours, in seconds; the header has whole ones, and lies somewhere in the exchange.
    static func skew(_ answer: EndpointObservation, _ response: UpstreamResponse) -> Double? {
        guard let theirs = response.fields["date"].flatMap({ Timestamp(http: $0) })?.date else { return nil }
        if theirs > answer.received { return theirs.timeIntervalSince(answer.received) }
        let latest = theirs.addingTimeInterval(1)
        return latest < answer.sent ? latest.timeIntervalSince(answer.sent) : 0
    }

    private static func clock(_ answer: EndpointObservation, _ skew: Double, _ leeway: Duration) -> Finding {
        let seconds = abs(Int(skew.rounded()))
        guard seconds > 2 else { return check.ok("our clock is \(answer.name)'s") }
        let found = "our clock is \(seconds) s \(skew > 0 ? "behind" : "ahead of") \(answer.name)'s"
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
