import CloakroomAWS
package import CloakroomHTTP
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The responses of nginx, one request each.
package struct NginxObservations: Sendable {
    package typealias Outcome = Result<UpstreamResponse, TransportError>

    package let url: String
    /// A path that is no route.
    package var unknown: Outcome
    /// GET where POST belongs.
    package var wrongMethod: Outcome
    /// A body as large as the settings allow, and one byte too large.
    package var largest: Outcome
    package var tooLarge: Outcome
    package var metrics: Outcome
    /// The same from a client that claims in X-Forwarded-For to be this machine.
    package var disguisedMetrics: Outcome
    /// What local networks have on every port, and the same for a client that claims to have a public address.
    package var health: Outcome
    package var foreignHealth: Outcome
    /// When its certificate ends; `nil` for plain HTTP.
    package var certificateEnd: Date?

    package init(
        url: String, unknown: Outcome, wrongMethod: Outcome, largest: Outcome, tooLarge: Outcome, metrics: Outcome,
        disguisedMetrics: Outcome, health: Outcome, foreignHealth: Outcome, certificateEnd: Date? = nil
    ) {
        self.url = url
        self.unknown = unknown
        self.wrongMethod = wrongMethod
        self.largest = largest
        self.tooLarge = tooLarge
        self.metrics = metrics
        self.disguisedMetrics = disguisedMetrics
        self.health = health
        self.foreignHealth = foreignHealth
        self.certificateEnd = certificateEnd
    }

    /// Reads a date as OpenSSL prints it: `May  1 00:00:00 2027 GMT`.
    package static func date(openSSL text: String) -> Date? {
        let words = text.split(separator: " ")
        guard words.count == 5 else { return nil }
        let day = words[1].count == 1 ? "0\(words[1])" : "\(words[1])"
        return Timestamp(http: "Mon, \(day) \(words[0]) \(words[3]) \(words[2]) GMT")?.date
    }
}

/// Checks nginx as it stands before the workers.
package struct NginxFindings {
    private let observations: NginxObservations
    private let settings: Settings
    private let now: Date
    private let check = CheckName.nginx

    package init(_ observations: NginxObservations, _ settings: Settings, now: Date) {
        self.observations = observations
        self.settings = settings
        self.now = now
    }

    package var all: [Finding] {
        switch observations.unknown {
        case .failure(let error): [unreachable(error)]
        case .success(let response):
            [worker(response)]
                + (response.status == 404
                    ? [headers(response), server(response), method, bodies].compactMap(\.self) : [])
                + [scheme, certificate, metrics, clientAddress].compactMap(\.self)
        }
    }

    private var isOnThisMachine: Bool { WebOrigin(observations.url)?.isLoopback == true }

    private func unreachable(_ error: TransportError) -> Finding {
        let (reason, advice) = error.ofNginx
        return check.error("\(observations.url): \(reason)", why: "no app reaches the workers", advice: advice)
    }

    private func worker(_ response: UpstreamResponse) -> Finding {
        let found = "\(observations.url) responds \(response.status) for a path that is no route"
        switch response.status {
        case 404 where response.fields["content-type"]?.hasPrefix("application/json") == true:
            return check.ok("a worker responds behind \(observations.url)")
        case 502, 504:
            return check.error(
                found, why: "nginx runs, but no worker responds to it",
                advice: "start cloakroom serve, and let upstream.conf name its sockets")
        case 301, 302, 307, 308:
            return check.error(
                found, why: "the doctor follows no redirect", advice: "give the address it leads to as --url")
        default:
            return check.error(
                found, why: "another server responds in the workers' place",
                advice: "include cloakroom/server.conf in the server that listens there")
        }
    }

    private static let wanted = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"), ("Referrer-Policy", "no-referrer"),
    ]

    private func headers(_ response: UpstreamResponse) -> Finding {
        let isTLS = observations.url.hasPrefix("https://")
        var missing = Self.wanted.filter { response.fields[$0.0] != $0.1 }.map(\.0)
        if isTLS, response.fields["Strict-Transport-Security"] == nil { missing.append("Strict-Transport-Security") }
        let twice = Self.wanted.map(\.0).filter { name in
            response.fields.count { $0.name.lowercased() == name.lowercased() } > 1
        }
        // The others come from the same file: this one nginx sends where it knows of TLS.
        guard missing != ["Strict-Transport-Security"] else {
            return check.warning(
                "responses lack Strict-Transport-Security",
                why: "a browser may be led to plain HTTP, where an attacker on the path reads its token",
                advice: "where TLS ends before nginx, let the balancer set X-Forwarded-Proto to https, which log.conf"
                    + " of this version reads, or send the header itself")
        }
        guard missing.isEmpty else {
            return check.warning(
                "responses lack \(missing.joined(separator: ", "))",
                why: "credentials may lie in a cache, or a response be taken for a page",
                advice: "include cloakroom/headers.conf, in each location that adds a header of its own, too")
        }
        guard twice.isEmpty else {
            return check.warning(
                "responses have \(twice.joined(separator: ", ")) twice", why: "clients and caches may heed either",
                advice: "take out what is set besides cloakroom/headers.conf")
        }
        return check.ok("the headers of cloakroom/headers.conf are sent")
    }

    private func server(_ response: UpstreamResponse) -> Finding? {
        guard let name = response.fields["Server"], name.contains("/") else { return nil }
        return check.warning(
            "responses say \(name)", why: "scanners look for versions with known holes",
            advice: "set server_tokens off")
    }

    private var method: Finding? {
        guard case .success(let response) = observations.wrongMethod else { return lost("GET where POST belongs") }
        guard response.status == 405, response.fields["Allow"] == "POST" else {
            return check.warning(
                "GET where POST belongs gets \(response.status)",
                why: "something between nginx and the workers changes requests or responses",
                advice: "compare the site with nginx/ of this package")
        }
        return check.ok("GET where POST belongs gets 405")
    }

    /// Both without a token, so that nothing is done for either.
    private var bodies: Finding? {
        guard case .success(let largest) = observations.largest, case .success(let tooLarge) = observations.tooLarge
        else {
            return lost("a large body")
        }
        let limit = settings.server.maximumBodyBytes
        guard largest.status != 413 else {
            return check.warning(
                "a body of \(limit) bytes gets 413, though server.maximumBodyBytes allows it",
                why: "a batch of keys that the worker would take is refused",
                advice: "set client_max_body_size in nginx to \(limit)")
        }
        guard tooLarge.status == 413 else {
            return check.error(
                "a body of \(limit + 1) bytes gets \(tooLarge.status), not 413",
                why: "nothing bounds what a client can send", advice: "include cloakroom/limits.conf")
        }
        return check.ok("a body of \(limit) bytes is let in, one byte more gets 413")
    }

    private func lost(_ what: String) -> Finding {
        check.warning(
            "\(what) gets no response", why: "a client would try again, in vain", advice: "look into nginx's error log")
    }

    private var scheme: Finding? {
        guard !observations.url.hasPrefix("https://"), !isOnThisMachine else { return nil }
        return check.error(
            "\(observations.url) is plain HTTP", why: "an attacker on the path reads tokens and credentials",
            advice: "serve HTTPS as nginx/cloakroom.conf does, and give that address as --url")
    }

    private var certificate: Finding? {
        guard let end = observations.certificateEnd else { return nil }
        let days = Int((end.timeIntervalSince(now) / 86_400).rounded(.down))
        guard days >= 0 else {
            return check.error(
                "the certificate has ended", why: "no app connects any more", advice: "renew it, and reload nginx")
        }
        guard days >= 21 else {
            return check.warning(
                "the certificate ends in \(days) days", why: "no app connects from then on",
                advice: "look why it was not renewed: certbot renews a month ahead; then reload nginx")
        }
        return check.ok("the certificate is good for \(days) days")
    }

    private var metrics: Finding? {
        guard case .success(let plain) = observations.metrics,
            case .success(let disguised) = observations.disguisedMetrics
        else {
            return lost("/metrics")
        }
        guard plain.status == 200 || disguised.status != 200 else {
            return check.error(
                "/metrics is open to clients that claim in X-Forwarded-For to be 127.0.0.1",
                why: "anyone chooses an address, in the logs and in the audit too",
                advice: "name only your balancer's networks in cloakroom/proxies.conf")
        }
        guard plain.status == 200 else { return check.ok("/metrics responds \(plain.status) from here") }
        guard !isOnThisMachine else {
            return check.ok("/metrics is open to this machine; send a request through the public address to know more")
        }
        return check.warning(
            "/metrics is open to this machine", why: "if this machine is not of your network, everyone can read it",
            advice: "allow in cloakroom/local-networks.conf your own networks alone")
    }

    private var clientAddress: Finding? {
        guard case .success(let plain) = observations.health, plain.status == 200,
            case .success(let foreign) = observations.foreignHealth, foreign.status == 403
        else { return nil }
        return check.warning(
            "nginx takes the address of this machine from the X-Forwarded-For that it sends",
            why: "other clients of its network, or of a balancer that passes the header on, choose theirs, too: for "
                + "the audit, for limits by address, and for what is for local networks alone",
            advice: "name only the subnets of a balancer that sets the header itself, in cloakroom/proxies.conf or a "
                + "container's cloakroom/balancers.conf")
    }
}

extension TransportError {
    /// Why there is no response of nginx, and what to do.
    var ofNginx: (reason: String, advice: String) {
        switch self {
        case .untrusted:
            (
                "its certificate is not trusted, is another name's, or has ended",
                "renew it, send the whole chain in ssl_certificate, or give its authority with --ca"
            )
        case .unreachable, .notAllowedNow: ("nginx is unreachable", "start nginx, or fix --url")
        case .timeout: ("no response in time", "look at the firewall and nginx's error log")
        case .interrupted, .tooLarge, .cancelled, .invalidRequest:
            ("no HTTP response", "fix --url (scheme, host and port), or ssl_protocols (TLS 1.2 at least)")
        }
    }
}
