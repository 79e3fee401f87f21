package import CloakroomAWS
package import CloakroomHTTP
package import CloakroomServer

/// What nginx and the bucket say of web pages.
package struct BrowserObservations: Sendable {
    package typealias Outcome = Result<UpstreamResponse, TransportError>

    /// Preflights to nginx: of each origin of the settings, and of one that is not listed; `nil` where nginx is not checked.
    package struct Nginx: Sendable {
        package let preflights: [(origin: String, outcome: Outcome)]
        package let foreign: Outcome

        package init(preflights: [(origin: String, outcome: Outcome)], foreign: Outcome) {
            self.preflights = preflights
            self.foreign = foreign
        }
    }

    /// Why the bucket's rules were not read.
    package enum BucketError: Error, Sendable {
        /// There was nothing to sign a request with.
        case credentials(CredentialChainError)
        case s3(AWSError)
    }

    package let nginx: Nginx?
    package let bucket: Result<CORSConfiguration, BucketError>

    package init(nginx: Nginx?, bucket: Result<CORSConfiguration, BucketError>) {
        self.nginx = nginx
        self.bucket = bucket
    }

    /// A host that cannot be (RFC 2606).
    package static let foreignOrigin = "https://cloakroom-doctor.invalid"
}

/// Holds nginx and the bucket against `web.origins`.
package struct BrowserFindings {
    private let observations: BrowserObservations
    private let web: Settings.Web
    private let check = CheckName.browsers

    package init(_ observations: BrowserObservations, _ web: Settings.Web) {
        self.observations = observations
        self.web = web
    }

    package var all: [Finding] { [unanswered, nginx, foreign].compactMap(\.self) + bucket }

    /// Where nginx does not respond, nothing is known of its `cors.conf`.
    private var unanswered: Finding? {
        guard let nginx = observations.nginx else { return nil }
        for outcome in nginx.preflights.map(\.outcome) + [nginx.foreign] {
            guard case .failure(let error) = outcome else { continue }
            let (reason, advice) = error.ofNginx
            return check.error(
                "preflights to nginx fail: \(reason)", why: "whether pages can call cannot be told", advice: advice)
        }
        return nil
    }

    private var nginx: Finding? {
        guard let nginx = observations.nginx else {
            return web.origins.isEmpty
                ? nil : check.skipped("nginx was not checked for web pages", advice: "give its URL with --url")
        }
        guard !web.origins.isEmpty else { return nil }
        var permitted: [String] = []
        var refused: [String] = []
        for (origin, outcome) in nginx.preflights {
            guard case .success(let response) = outcome else { continue }
            if Self.permits(response, origin) { permitted.append(origin) } else { refused.append(origin) }
        }
        guard !refused.isEmpty else {
            return permitted.isEmpty
                ? nil : check.ok("nginx lets pages of \(LifecycleCoverage.list(permitted)) call")
        }
        return check.error(
            "nginx does not let pages of \(LifecycleCoverage.list(refused)) call",
            why: "browsers keep every response from them",
            advice: "write nginx's cors.conf anew (cloakroom nginx-cors --output), and reload nginx",
            command: "cloakroom nginx-cors FILE")
    }

    private var foreign: Finding? {
        guard let nginx = observations.nginx, case .success(let response) = nginx.foreign,
            let permitted = response.fields["Access-Control-Allow-Origin"]
        else { return nil }
        return check.error(
            "nginx permits pages of \(BrowserObservations.foreignOrigin) with \(permitted)",
            why: "every page can read responses in its visitors' browsers",
            advice: "take out what sets Access-Control-Allow-Origin besides cloakroom/headers.conf")
    }

    private var bucket: [Finding] {
        switch observations.bucket {
        case .success(let configuration): reviewed(configuration)
        case .failure where web.origins.isEmpty: [check.ok("web.origins is empty: no web page is let in")]
        case .failure(.credentials(let fault)): [withoutCredentials(fault.summary)]
        case .failure(.s3(let fault)) where fault.kind == .noCredentials: [withoutCredentials(fault.words)]
        case .failure(.s3(let fault)) where fault.status == 403:
            [
                check.skipped(
                    "the bucket's rules for web pages may not be read: \(fault.words)",
                    advice: "run the doctor as an operator who may do s3:GetBucketCORS: deploy/iam/doctor-policy.json")
            ]
        case .failure(.s3(let fault)):
            [
                check.error(
                    "the bucket's rules for web pages cannot be read: \(fault.words)", why: Self.unread,
                    advice: fault.status == 0
                        ? "is aws.s3Endpoint right, and the network there? The check endpoints says more"
                        : "look up the code in the store's manual; the check bucket says more")
            ]
        }
    }

    private static let unread = "whether pages can upload and read cannot be told"

    private func withoutCredentials(_ reason: String) -> Finding {
        check.error(
            "no AWS credentials to read the bucket's rules for web pages with: \(reason)", why: Self.unread,
            advice: "run the doctor where and as the worker runs, or fix what is named")
    }

    private func reviewed(_ configuration: CORSConfiguration) -> [Finding] {
        let review = CORSReview(configuration, web)
        let command = "cloakroom cors apply --dry-run FILE"
        let wrong = review.findings.map { finding in
            switch finding.severity {
            case .error:
                check.error(
                    "the bucket: \(finding.text)", why: "uploads and reads of these pages fail in the browser",
                    advice: finding.advice, command: command)
            case .warning:
                check.warning(
                    "the bucket: \(finding.text)", why: "settings and bucket say different things",
                    advice: finding.advice, command: command)
            }
        }
        guard review.isGood else { return wrong }
        return [
            check.ok(
                web.origins.isEmpty
                    ? "web.origins is empty: no web page is let in"
                    : "the bucket lets pages of \(LifecycleCoverage.list(web.origins)) upload and read")
        ] + wrong
    }

    private static func permits(_ response: UpstreamResponse, _ origin: String) -> Bool {
        (200...299).contains(response.status) && response.fields["Access-Control-Allow-Origin"] == origin
    }
}
