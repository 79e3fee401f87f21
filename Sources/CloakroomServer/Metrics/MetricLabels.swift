import CloakroomAWS
import CloakroomWire
import CloakroomRedis

/// A label of a metric: its values are known before anything is counted, each with a series of its own.
protocol MetricLabel: CaseIterable, Equatable, Sendable {
    static var name: String { get }
    /// As Prometheus sees it.
    var value: String { get }
    /// The index among all values.
    var index: Int { get }
}

extension MetricLabel {
    var index: Int {
        var index = 0
        for each in Self.allCases {
            if each == self { return index }
            index += 1
        }
        preconditionFailure("allCases has every value")
    }
}

extension MetricLabel where Self: RawRepresentable<String> {
    var value: String { rawValue }
}

/// A route, and behind all of them a path that is none of ours.
struct RouteLabel: MetricLabel {
    let index: Int

    private static let routes = Route.allCases
    static let name = "route"
    static let allCases = (0...routes.count).map(RouteLabel.init(index:))

    private init(index: Int) { self.index = index }

    init(_ route: Route) { index = Self.routes.firstIndex(of: route) ?? Self.routes.count }

    static let unknown = RouteLabel(index: routes.count)

    var value: String { index < Self.routes.count ? Self.routes[index].rawValue : "unknown" }
}

/// Every status that a route sends, and one for those that only a fault could bring.
enum StatusLabel: Int, MetricLabel {
    case ok = 200
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case conflict = 409
    case tooLarge = 413
    case unsupportedType = 415
    case tooMany = 429
    case internalError = 500
    case unavailable = 503
    case other = 0

    static let name = "status"

    init(_ status: Int) { self = StatusLabel(rawValue: status) ?? .other }

    var value: String { self == .other ? "other" : "\(rawValue)" }
}

/// The services that a worker calls.
enum UpstreamLabel: String, MetricLabel {
    case sts, s3

    static let name = "upstream"

    init(_ service: Attempt.Service) { self = service == .sts ? .sts : .s3 }
}

enum AttemptLabel: String, MetricLabel {
    case success, throttled, transient
    case staleCredentials = "stale_credentials"
    case skewedClock = "skewed_clock"
    case refused
    case noCredentials = "no_credentials"
    case cancelled

    static let name = "outcome"

    init(_ fault: AWSError?) {
        self =
            switch fault?.kind {
            case nil: .success
            case .throttled: .throttled
            case .transient: .transient
            case .staleCredentials: .staleCredentials
            case .skewedClock: .skewedClock
            // There were no others to try again with: an operator has to give some.
            case .refused: fault?.refusesCredentials == true ? .staleCredentials : .refused
            case .noCredentials: .noCredentials
            case .cancelled: .cancelled
            }
    }
}

/// How a call of STS for a user's session ended.
enum RoleCallLabel: String, MetricLabel {
    case success, unavailable, refused, unusable, cancelled

    static let name = "outcome"

    init(_ error: STSError?) {
        self =
            switch error {
            case nil: .success
            case .unavailable: .unavailable
            case .refused: .refused
            case .unusable: .unusable
            case .cancelled: .cancelled
            }
    }
}

enum RenewalLabel: String, MetricLabel {
    case renewed
    case recentlyWritten = "fresh"
    case notFound = "not_found"
    case archived
    case invalidKey = "invalid_key"
    case unrenewableObject = "unrenewable"
    case accessDenied = "forbidden"
    case misconfigured, unavailable
    /// A key outside the folders of the user who named it.
    case outsideFolders = "foreign"

    static let name = "outcome"

    init(_ outcome: Renewal.Outcome) {
        self =
            switch outcome {
            case .renewed: .renewed
            case .recentlyWritten: .recentlyWritten
            case .notFound: .notFound
            case .archived: .archived
            case .invalidKey: .invalidKey
            case .unrenewableObject: .unrenewableObject
            case .accessDenied: .accessDenied
            case .refused, .misconfigured: .misconfigured
            case .unavailable: .unavailable
            }
    }
}

/// Where credentials came from that a request was to get.
package enum CacheLabel: String, MetricLabel {
    case hit, miss, joined, off, shared, previous, refused

    static let name = "outcome"
}

enum RedisFailureLabel: String, MetricLabel {
    case unavailable, timeout, interrupted, noscript, readonly, busy, oom, noauth, masterdown, loading, wrongpass
    case noperm, maxclients, misconf, noreplicas, clusterdown, moved, ask, tryagain, nomaster, nocluster, other

    static let name = "reason"

    init(_ error: RedisError) {
        // What failed in TLS is for the log; there is no connection.
        self = if case .tls = error { .unavailable } else { RedisFailureLabel(rawValue: error.label) ?? .other }
    }
}

enum IssuedLabel: String, MetricLabel {
    case credentials, upload, session

    static let name = "kind"

    /// - Returns: `nil` for a release, which gives nothing out.
    init?(_ kind: AuditLog.Issuance.Kind) {
        switch kind {
        case .credentials: self = .credentials
        case .upload: self = .upload
        case .session: self = .session
        case .release: return nil
        }
    }
}

enum ReleaseLabel: String, MetricLabel {
    case released, unavailable, misconfigured
    /// A key that is no image of a chat, or with a token that was not made for it and its user.
    case foreign

    static let name = "outcome"
}

enum KeyFetchLabel: MetricLabel {
    case success
    case failure(KeyFetchError)

    static let name = "outcome"
    static let allCases = [success] + KeyFetchError.allCases.map(KeyFetchLabel.failure)

    init(_ failure: KeyFetchError?) { self = failure.map(Self.failure) ?? .success }

    var value: String {
        switch self {
        case .success: "success"
        case .failure(let error): error.rawValue
        }
    }
}

/// How an attempt at posting an event ended.
enum EventDeliveryLabel: String, MetricLabel {
    case delivered
    /// By a status that says so of this event alone.
    case refused
    /// By a status that says to come back later.
    case unavailable
    case unreachable, untrusted, timeout, interrupted

    static let name = "outcome"
}

/// Why an event was not delivered, and will not be by itself.
enum EventLossLabel: String, MetricLabel {
    /// Redis took none, and the memory for those that wait was full, or the worker ended.
    case memory
    /// The stream was full.
    case trimmed
    /// It is among the dead ones.
    case dead
    /// It was among the dead ones, and these were too many.
    case deadTrimmed = "dead_trimmed"

    static let name = "reason"
}

/// What became of spans.
enum SpanLabel: String, MetricLabel {
    case exported
    /// The queue was.
    case full
    /// The collector did not take the batch.
    case failed

    static let name = "outcome"
}

/// A window of requests: a device's, or a user's, such as `vendUser`.
struct WindowLabel: MetricLabel {
    let value: String
    let index: Int

    static let name = "limit"
    /// Keys and bytes are used in larger steps than one.
    private static let limits = RateLimitName.allCases.filter { $0.unit == nil }
    static let allCases = limits.enumerated().flatMap { position, limit in
        [
            WindowLabel(value: limit.rawValue, index: 2 * position),
            WindowLabel(value: limit.ofUser, index: 2 * position + 1),
        ]
    }

    private init(value: String, index: Int) {
        self.value = value
        self.index = index
    }

    /// - Returns: `nil` for a limit of keys or bytes.
    init?(_ limit: RateLimitName, isOfUser: Bool) {
        guard let position = Self.limits.firstIndex(of: limit) else { return nil }
        self = Self.allCases[2 * position + (isOfUser ? 1 : 0)]
    }
}

extension RateLimitName: MetricLabel {
    static var name: String { "limit" }
}

extension RateLimitDecision.Verdict: MetricLabel {
    static var name: String { "verdict" }
}

extension SharingRules.Omission: MetricLabel {
    static let name = "reason"
}

extension Entitlement.Refusal: MetricLabel {
    static var name: String { "reason" }
}
