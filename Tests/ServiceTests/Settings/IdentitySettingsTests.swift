import CloakroomJOSE
import Testing

@testable import CloakroomServer

struct IdentitySettingsTests {
    private func file(_ issuers: String, session: String = "") -> String {
        """
        {
          region: "eu-central-1", bucket: "photos", tokens: {issuers: [\(issuers)]},
          vending: {roleARN: "arn:aws:iam::000000000000:role/session"}, \(session)
        }
        """
    }

    private func load(_ issuers: String, session: String = "", files: [String: String] = [:]) throws -> Settings {
        try settings(
            file(issuers, session: session),
            files: ["/etc/cloakroom/session.pem": TestIssuer.pem[0]].merging(files) { $1 })
    }

    private func faults(_ issuers: String, session: String = "") throws -> [String] {
        let files = [
            "/etc/cloakroom/key.json": TestIssuer.keySet([try TestIssuer(0)]),
            "/etc/cloakroom/unnamed.json": TestIssuer.keySet(
                Array(
                    repeating: .object(try #require(TestIssuer(0).jwk.object?.filter { $0 != "kid" })), count: 5)),
            "/etc/cloakroom/private.pem": TestIssuer.pem[0],
            "/etc/cloakroom/secret.json": #"{"kty":"oct","k":"\#(String(repeating: "Zq3x", count: 16))"}"#,
        ]
        do { _ = try load(issuers, session: session, files: files) } catch let error as SettingsErrors {
            return error.faults.map(\.description)
        }
        return []
    }

    private static let session = """
        session: {issuer: "https://own.example", keys: [{keyID: "1", privateKey: {file: "session.pem"}}]}
        """
    private static let apple = #"{preset: "apple", clientIDs: ["com.example.app"]}"#

    @Test(arguments: [
        ("", true), ("requireNonce: true", true), ("requireNonce: false", false), ("for: \"requests\"", false),
    ])
    func `requires a nonce of Apple's identity tokens unless the operator says otherwise`(
        setting: String, isRequired: Bool
    ) throws {
        let issuers =
            #"{preset: "apple", clientIDs: ["x"], \#(setting)}, "#
            + #"{issuer: "b", audiences: ["x"], jwksURL: "https://b/k", for: "session", subjects: "plain"}"#
        #expect(try load(issuers, session: Self.session).tokens.issuers.map(\.requiresNonce) == [isRequired, false])
    }

    @Test(arguments: [("", 30), ("leewaySeconds: 5", 30), ("leewaySeconds: 60", 60)])
    func `the largest leeway is an issuer's own, or that of session tokens`(setting: String, seconds: Int) throws {
        let issuer = #"{issuer: "a", audiences: ["x"], secret: {env: "SIGNING"}, \#(setting)}"#
        #expect(try load(issuer).tokens.largestLeeway == .seconds(seconds))
    }

    @Test func `takes Apple's preset, a discovery, an address, a file and a secret together`() throws {
        let settings = try load(
            """
            \(Self.apple),
            {issuer: "https://a.example", audiences: ["x"], discovery: true, algorithms: ["RS256", "PS256", "EdDSA"],
             leewaySeconds: 5},
            {issuer: "https://b.example", audiences: ["x"], jwksURL: "https://b.example/keys", for: "session",
             requireNonce: true},
            {issuer: "c", audiences: ["x"], keyFile: "key.json", subjects: "plain"},
            {issuer: "d", audiences: ["x"], secret: {env: "SIGNING"}},
            """, session: Self.session, files: ["/etc/cloakroom/key.json": TestIssuer.keySet([try TestIssuer(0)])])
        let issuers = settings.tokens.issuers
        #expect(
            issuers.map(\.name) == ["https://appleid.apple.com", "https://a.example", "https://b.example", "c", "d"])
        #expect(issuers.map(\.use) == [.session, .requests, .session, .requests, .requests])
        #expect(issuers.map(\.subjects) == [.mapped, .mapped, .mapped, .plain, .mapped])
        #expect(issuers.map(\.notifies) == [true, false, false, false, false])
        #expect(issuers.map(\.leeway) == [nil, .seconds(5), nil, nil, nil])
        #expect(issuers.map(\.requiresNonce) == [true, false, true, false, false])
        #expect(
            issuers.map(\.algorithms) == [
                [.rs256, .es256], [.rs256, .ps256, .edDSA], [.rs256, .es256], [.es256], [.hs256],
            ])
        #expect(issuers[0].audiences == ["com.example.app"])
        guard case .address("https://appleid.apple.com/auth/keys") = issuers[0].keys, case .discovery = issuers[1].keys
        else {
            Issue.record("keys from elsewhere")
            return
        }
        #expect(settings.session?.keys.map(\.keyID) == ["1"])
        #expect(settings.session?.lifetime == .seconds(3600) && settings.session?.maximumAge == .seconds(2_592_000))
        #expect(settings.limits.session.whenRedisIsAway == .closed)
    }

    private static func issuer(_ more: String, name: String = "https://a.example") -> String {
        #"{issuer: "\#(name)", audiences: ["x"], \#(more)}"#
    }

    /// Settings, and what is wrong with them.
    private struct FaultCase: Sendable {
        let issuers: String
        var session = ""
        let fault: String
    }

    private static let issuerFaults: [FaultCase] = [
        FaultCase(
            issuers: issuer(""),
            fault: "tokens.issuers[0]: names no keys; give one of secret, keyFile, jwksURL and discovery: true"),
        FaultCase(
            issuers: issuer("secret: {env: 'SIGNING'}, jwksURL: 'https://a.example/'"),
            fault: "tokens.issuers[0]: names its keys in 2 ways: secret, jwksURL; keep one of them"),
        FaultCase(
            issuers: issuer("jwksURL: 'https://a.example/', algorithms: ['RS256', 'HS256']"),
            fault: "tokens.issuers[0].algorithms: names HS256, which is for a secret, beside public keys;"
                + " take it out, or give a secret"),
        FaultCase(
            issuers: issuer("secret: {env: 'SIGNING'}, algorithms: ['RS256']"),
            fault: "tokens.issuers[0].algorithms: names RS256, which is for public keys, beside a secret;"
                + " name HS256, HS384 or HS512, or give public keys"),
        FaultCase(
            issuers: issuer("secret: {env: 'SIGNING'}, algorithms: ['HS256', 'HS512']"),
            fault:
                "tokens.issuers[0].algorithms: names HS512, which no key here can serve; take it out, or give a key for it"
        ),
        FaultCase(
            issuers: issuer("keyFile: 'key.json', algorithms: ['RS256']"),
            fault:
                "tokens.issuers[0].algorithms: names RS256, which no key here can serve; take it out, or give a key for it"
        ),
        FaultCase(
            issuers: issuer("keyFile: 'private.pem'"),
            fault: "tokens.issuers[0].keyFile: is a private key; give the public one: openssl pkey -pubout;"
                + " give a PEM file with PUBLIC KEY, a JWK or a JWK set"),
        FaultCase(
            issuers: issuer("keyFile: 'secret.json'"),
            fault: "tokens.issuers[0].keyFile: holds a secret; give it as secret; here are public keys"),
        FaultCase(
            issuers: issuer("keyFile: 'unnamed.json'"),
            fault: "tokens.issuers[0].keyFile: has 5 keys without a kid, of which a token is tried with 4;"
                + " name them, or take the oldest out"),
        FaultCase(
            issuers: issuer("jwksURL: 'http://a.example/keys'"),
            fault:
                "tokens.issuers[0].jwksURL: is \"http://a.example/keys\"; give: https URL, or http to a loopback address"
        ),
        FaultCase(
            issuers: issuer("discovery: true", name: "http://a.example"),
            fault: "tokens.issuers[0].discovery: needs an issuer that is an https URL; give jwksURL, or that issuer"),
        FaultCase(
            issuers: issuer("discovery: true") + "," + issuer("discovery: true"),
            fault: "tokens.issuers[1].issuer: is there twice; give each issuer once, with all its audiences"),
        FaultCase(
            issuers: issuer("discovery: true, subjects: 'plain'") + ","
                + issuer("discovery: true, subjects: 'plain'", name: "https://b.example"),
            fault: "tokens.issuers[1].subjects: is plain, as another issuer's are: its users would be the same;"
                + " make one of them \"mapped\""),
        FaultCase(
            issuers: issuer("discovery: true") + "," + issuer("discovery: true", name: "https://b.example"),
            fault: "tokens.issuers: are several, and none says subjects: a subject would no longer be its user id;"
                + " give subjects: \"plain\" to the issuer that was alone before, or \"mapped\" to one of them for all"),
        FaultCase(
            issuers: issuer("discovery: true, for: 'session'"),
            fault: "tokens.issuers[0].for: is session, but there are no sessions;"
                + " set session.issuer and session.keys, or make it \"requests\""),
        FaultCase(
            issuers: #"{preset: "apple"}"#,
            fault:
                "tokens.issuers[0].clientIDs: is missing; give: array, each: string. One of them must be in the claim `aud`."
        ),
        FaultCase(
            issuers: #"{preset: "apple", clientIDs: ["x"], secret: {env: "SIGNING"}}"#,
            fault:
                "tokens.issuers[0].secret: stands beside a preset; take it out: Apple signs with keys that it publishes"
        ),
        FaultCase(
            issuers: issuer("discovery: true, clientIDs: ['x']"),
            fault: "tokens.issuers[0].audiences: stands beside clientIDs; keep one of the two"),
        FaultCase(
            issuers: #"{clientIDs: ["x"], issuer: "a", secret: {env: "SIGNING"}}"#,
            fault: "tokens.issuers[0].clientIDs: stands without a preset; call them audiences"),
        FaultCase(
            issuers: issuer("discovery: true, requireNonce: true"),
            fault: "tokens.issuers[0].requireNonce: is true, but its tokens stand in requests, which have no nonce;"
                + " take it out, or make it for: \"session\""),
        FaultCase(
            issuers: #"{preset: "apple", clientIDs: ["x"], claims: {subject: "email"}}"#,
            fault: "tokens.issuers[0].claims.subject: is \"email\", but Apple's notifications name users by sub;"
                + " take it out"),
        FaultCase(
            issuers: #"{audiences: ["x"], secret: {env: "SIGNING"}}"#,
            fault: "tokens.issuers[0].issuer: is missing; give: string. The claim `iss`, exactly."),
    ]

    @Test(arguments: issuerFaults)
    private func `refuses issuers that make no sense`(_ fault: FaultCase) throws {
        #expect(try faults(fault.issuers) == [fault.fault])
    }

    private static let sessionFaults: [FaultCase] = [
        FaultCase(
            issuers: issuer("discovery: true"), session: session,
            fault: "session.issuer: is given, but no issuer's tokens can be exchanged for a session;"
                + " give one of tokens.issuers for: \"session\""),
        FaultCase(
            issuers: apple, session: "session: {issuer: 'https://appleid.apple.com'}",
            fault: "session.issuer: is tokens.issuers[0], which is another issuer; give a name of our own"),
        FaultCase(
            issuers: apple, session: "session: {issuer: 'a'}",
            fault: "session.keys: is missing; give at least one key with keyID and privateKey"),
        FaultCase(
            issuers: apple, session: "session: {issuer: 'a', keys: [{keyID: '1'}]}",
            fault: "session.keys[0]: needs either privateKey or secret; give one of the two"),
        FaultCase(
            issuers: apple,
            session:
                "session: {issuer: 'a', keys: [{keyID: '1', secret: {env: 'SIGNING'}}, {keyID: '1', secret: {env: 'SIGNING'}}]}",
            fault: "session.keys[1].keyID: is there twice; give each key a name of its own"),
        FaultCase(
            issuers: apple, session: "session: {issuer: 'a', keys: [{keyID: '1', privateKey: {env: 'SIGNING'}}]}",
            fault: "session.keys[0].privateKey: cannot be read as a key in PEM;"
                + " make one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"),
        FaultCase(
            issuers: apple, session: String(session.dropLast()) + ", lifetimeSeconds: 3600, maximumAgeSeconds: 600}",
            fault: "session.lifetimeSeconds: is longer than session.maximumAgeSeconds; give less, or raise the other"),
        FaultCase(
            issuers: issuer("discovery: true"), session: "session: {keys: [{keyID: '1', secret: {env: 'SIGNING'}}]}",
            fault: "session.keys: stands without session.issuer; give both, or neither"),
        FaultCase(
            issuers: apple + "," + issuer("secret: {env: 'SIGNING'}, subjects: 'plain'"),
            session: "session: {issuer: 'a', keys: [{keyID: '1', secret: {env: 'SIGNING'}}]}",
            fault: "session.keys[0].secret: is that of tokens.issuers[1], who could make our tokens with it;"
                + " make another with: openssl rand -base64 32"),
        FaultCase(
            issuers: apple, session: session + ", entitlements: {enabled: false}",
            fault: "tokens.issuers[0].preset: is apple, but no record is read that could disable a user;"
                + " set entitlements.enabled: true"),
    ]

    @Test(arguments: sessionFaults)
    private func `refuses sessions that make no sense`(_ fault: FaultCase) throws {
        #expect(try faults(fault.issuers, session: fault.session) == [fault.fault])
    }
}
