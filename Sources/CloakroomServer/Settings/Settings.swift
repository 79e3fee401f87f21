/// Everything an operator decides, read once at start; nothing else reads the environment or the file.
///
/// Each key is described in ``SettingsTable``.
package struct Settings: Sendable {
    package var region: String
    package var bucket: String
    package var aws: AWSAccess
    package var tokens: Tokens
    /// `nil` when sign-in is off.
    package var session: Session?
    package var vending: Vending
    /// By name; none means that all tiers are alike.
    package var tiers: [String: Tier]
    package var entitlements: Entitlements
    package var uploads: Uploads
    package var renewal: Renewal
    package var lifecycle: Lifecycle
    package var web: Web
    package var limits: Limits
    package var redis: Redis
    package var audit: Audit
    /// `nil` where nothing is told.
    package var events: Events?
    /// `nil` where no spans are sent.
    package var tracing: Tracing?
    package var log: Log
    package var server: Server
}

extension Settings {
    /// - Precondition: the values are without a fault.
    init(
        _ values: SettingsValues<SettingsTable>, aws: AWSAccess, issuers: [Issuer], roles: SessionRoles, scopes: Scopes,
        scope: Scope
    ) {
        region = values.region
        bucket = values.bucket
        self.aws = aws
        tokens = Tokens(values.tokens, issuers: issuers)
        session = IdentitySettings(values: values).session
        vending = Vending(values.vending, roles: roles, scopes: scopes, scope: scope)
        let vending = vending
        tiers = Dictionary(uniqueKeysWithValues: (values.tiers ?? []).map { ($0.name, Tier($0.values, vending)) })
        entitlements = Entitlements(values.entitlements)
        uploads = Uploads(values)
        renewal = Renewal(values, vending)
        lifecycle = Lifecycle(values)
        web = Web(values.web)
        limits = Limits(values.limits)
        redis = Redis(values.redis)
        audit = Audit(values.audit)
        events = Events(values.events)
        tracing = Tracing(values.tracing)
        log = Log(values.log)
        server = Server(values.server)
    }
}
