import CloakroomWire
package import CloakroomHTTP
import CloakroomJOSE
package import CloakroomLoop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Answers every request: finds the route and what is to be done; a ``RequestPipeline`` does it.
@LoopActor
package final class CloakroomService {
    /// The parts of the service, as ``ServiceBuilder`` makes them.
    package struct Dependencies {
        package var settings: Settings
        package var authenticator: Authenticator
        /// `nil`: sign-in is off; tokens come from elsewhere.
        package var sessions: SessionTokens?
        package var accessRemoval: AccessRemoval
        package var limiter: RateLimiter
        package var vendor: Vendor
        package var renewer: Renewer
        /// `nil`: there are no images of chats.
        package var releaser: Releaser?
        package var uploader: Uploader
        package var audit: AuditLog
        /// `nil` where nothing is told.
        package var events: EventRecorder?
        /// `nil` where no spans are sent.
        package var tracer: Tracer?
        package var log: Log
        package var metrics: Metrics
        package var metricsFolder: MetricsFolder?
        package var readiness: Readiness
        package var status: StatusBoard
        /// The wall clock; subscriptions end by it.
        package var now: @Sendable () -> Date

        package init(
            settings: Settings, authenticator: Authenticator, sessions: SessionTokens?, accessRemoval: AccessRemoval,
            limiter: RateLimiter, vendor: Vendor, renewer: Renewer, releaser: Releaser? = nil, uploader: Uploader,
            audit: AuditLog, events: EventRecorder? = nil,
            tracer: Tracer? = nil, log: Log,
            metrics: Metrics, metricsFolder: MetricsFolder?, readiness: Readiness, status: StatusBoard,
            now: @escaping @Sendable () -> Date
        ) {
            self.settings = settings
            self.authenticator = authenticator
            self.sessions = sessions
            self.accessRemoval = accessRemoval
            self.limiter = limiter
            self.vendor = vendor
            self.renewer = renewer
            self.releaser = releaser
            self.uploader = uploader
            self.audit = audit
            self.events = events
            self.tracer = tracer
            self.log = log
            self.metrics = metrics
            self.metricsFolder = metricsFolder
            self.readiness = readiness
            self.status = status
            self.now = now
        }
    }

    let dependencies: Dependencies
    let admissions: Admissions
    /// The limit of an issuer's notifications: the same for all tiers.
    let notificationTerms: RateLimitPolicy
    /// `nil` where nothing is shared.
    let sharing: Sharing?
    let inFlight: RequestsInFlight
    let tracer: Tracer?
    /// From when on a request counts as slow.
    let slowNanoseconds: UInt64?
    private let routes: RouteTable
    private var ids = RequestIDs()
    private var crowds = AddressCrowds()

    package init(_ dependencies: Dependencies) {
        self.dependencies = dependencies
        routes = RouteTable(hasCompanion: dependencies.settings.web.companion)
        inFlight = dependencies.metrics.inFlight
        tracer = dependencies.tracer
        sharing =
            dependencies.settings.vending.sharing
            ? Sharing(
                dependencies.settings, metrics: dependencies.metrics, log: dependencies.log, now: dependencies.now)
            : nil
        slowNanoseconds = dependencies.settings.log.slowRequest?.nanoseconds
        admissions = Admissions(
            limiter: dependencies.limiter, tiers: Tiers(dependencies.settings),
            settings: dependencies.settings.entitlements, now: dependencies.now)
        notificationTerms = RateLimitPolicy(.notification, dependencies.settings.limits)
        admissions.onUnknownTier = { [log = dependencies.log] tier, user in
            log.warning(
                "a user's record names a tier that the settings lack: renewals go on, nothing is vended or uploaded",
                ["tier": .text(tier), "user": .text(user.text)])
        }
    }

    /// Frees what is kept of each client and can be worked out again. Credentials stay: they cost calls of STS.
    package func releaseMemory() {
        dependencies.authenticator.forgetVerifiedTokens()
        dependencies.limiter.forgetCachedRequests()
    }

    /// Counts addresses at which many users get credentials or sessions.
    func watchCrowds(_ issue: AuditLog.Issuance) {
        switch issue.kind {
        case .credentials, .session:
            guard let address = issue.address, crowds.note(issue.subject.userID.text, at: address) else { return }
            dependencies.metrics.metCrowd()
        case .upload, .release: return
        }
    }

    /// The header fields that are read of a request; no other is even copied.
    package static func fieldNames(_ settings: Settings) -> [String] {
        ["Authorization", settings.tokens.header, "Content-Type", "Content-Length"]
    }

    /// The response to a body that is larger than the settings allow.
    package static var tooLarge: Response {
        RouteResponse.error(.bodyTooLarge, "Request body too large").response
    }

    /// Receives the response to a request; called once.
    package typealias Responder = @LoopActor (Response) -> Void

    /// Refusals and what the worker knows by itself come at once; the rest has to wait for Redis, STS or S3.
    package func respond(to request: Request, _ respond: @escaping Responder) {
        let start = Monotonic.now
        var request = request
        if request.id == nil { request.id = ids.next() }
        let match = routes.match(request.path)
        RequestPipeline(request, match, since: start, of: self, respond).run(step(request, match))
    }

    private func step(_ request: Request, _ match: RouteTable.Match?) -> RequestStep {
        guard let match else { return .done(.noSuchRoute) }
        let route = match.route
        guard route.takes(request.method) else {
            if request.method == "HEAD", route.answersHead {
                var request = request
                request.method = route.method
                return step(request, match).withoutBody
            }
            var answer = RouteResponse.error(.methodNotAllowed, "Method not allowed")
            let methods = route.methods + (route.answersHead ? ["HEAD"] : [])
            answer.response.fields.add("Allow", methods.joined(separator: ", "))
            return .done(answer)
        }
        guard request.hasTrueLength else {
            return .done(.error(.invalidRequest, "Invalid request body", reason: "content_length"))
        }
        switch route {
        case .stsToken, .containerCredentials, .companionCredentials: return vend(request, route)
        case .webIdentity: return assumeRole(request)
        case .session: return session(request)
        case .sessionKeys: return .done(sessionKeys)
        case .appleNotifications: return appleNotification(request)
        case .presignedUpload: return presign(request)
        case .presignedPost: return presignPost(request)
        case .multipartUploads: return beginMultipart(request)
        case .multipartParts: return multipartParts(request, id: match.id)
        case .multipartCompletion: return completeMultipart(request, id: match.id)
        case .multipartUpload: return abortMultipart(request, id: match.id)
        case .renewBatch, .renewOne: return renew(request, route)
        case .releaseBatch: return release(request)
        case .companionForm: return companionForm(request)
        case .companionUploads: return beginCompanionUpload(request)
        case .companionUpload: return companionUpload(request, id: match.id)
        case .companionPart: return companionPart(request, id: match.id, number: match.number)
        case .companionBatch: return companionBatch(request, id: match.id)
        case .companionCompletion: return completeCompanionUpload(request, id: match.id)
        case .health: return .done(Self.healthy)
        case .readiness: return .done(dependencies.readiness.answer)
        case .metrics: return .done(metrics())
        case .status: return .done(request.isFromLocalNetwork ? dependencies.status.response() : .notFromLocalNetwork)
        }
    }

    private static let healthy = RouteResponse.json(Array(#"{"status":"ok"}"#.utf8))

    private func metrics() -> RouteResponse {
        let layout = dependencies.metrics.layout
        let sums =
            dependencies.metricsFolder?.sums(of: layout)
            ?? (values: (0..<layout.count).map { dependencies.metrics.row[$0] }, workers: 1)
        var gauges = [("cloakroom_workers", "Workers whose counters are added up here.", sums.workers)]
        if let start = dependencies.metrics.serviceStart {
            gauges.append(("cloakroom_start_time_seconds", "When the service was started, since 1970.", start))
        }
        return RouteResponse(
            response: Response(
                status: 200, fields: ["Content-Type": PrometheusText.contentType, "Cache-Control": "no-store"],
                body: PrometheusText.encode(layout, values: sums.values, gauges: gauges)))
    }
}

extension Request {
    /// Whether the body is as long as its header says; nginx sends an empty value for none.
    fileprivate var hasTrueLength: Bool {
        guard let value = fields.location(of: "Content-Length")?.value, !value.isEmpty else { return true }
        var length = 0
        for byte in fields.text[value] {
            // RFC 9110 §8.6: digits, leading zeros among them. No body is that long.
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), length < 1 << 53 else { return false }
            length = length * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return length == body.count
    }
}

extension CloakroomService {
    /// Keeps probing the dependencies until the task is cancelled.
    /// What `/readyz` would say.
    package var isReady: Bool { dependencies.readiness.isReady }

    package func watchReadiness() async { await dependencies.readiness.watch(log: dependencies.log) }
}
