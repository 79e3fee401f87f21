/// The keys that say whose tokens are trusted, and which we make ourselves.
extension SettingsTable {
    static let tokens: [SettingsRow] = [
        .init(
            "tokens.header", .text(.headerName), .text("X-Convos-AuthToken"),
            "A header that may carry the token, besides `Authorization: Bearer`."),
        .init(
            "tokens.leewaySeconds", .integer(0...60), .integer(30),
            "How far an issuer's clock may be from ours."),
        .init(
            "tokens.certificateAuthorities", .file, .none,
            "PEM file of whom to trust when keys are fetched; null: whom the system trusts."),
        .init("tokens.issuers", .objects(issuer), .required, "Whose tokens are trusted; at least one."),
    ]

    static let issuer: [SettingsRow] = [
        .init(
            "preset", .choice(["apple"]), .none,
            "`apple` fills in issuer, keys and algorithms of Sign in with Apple, and `for: \"session\"`."),
        .init("clientIDs", .texts(.any), .none, "With `apple`: bundle and services ids; they are its audiences."),
        .init("issuer", .text(.any), .none, "The claim `iss`, exactly; required without a preset."),
        .init(
            "audiences", .texts(.any), .none, "One of them must be in the claim `aud`; required without a preset."),
        .init(
            "algorithms", .texts(.algorithm), .none,
            "What this issuer signs with; null: HS256 with a `secret`, else RS256 and ES256, or what the `keyFile` is for."
        ),
        .init(
            "secret", .signingKey, .none, "Key of HS256, HS384, HS512: at least 32 bytes, from a random generator."),
        .init("keyFile", .file, .none, "Public keys: a PEM file, a JWK or a JWK set."),
        .init("jwksURL", .text(.issuerURL), .none, "Where the issuer publishes its JWK set."),
        .init(
            "discovery", .flag, .flag(false),
            "Whether the set's address stands in `<issuer>/.well-known/openid-configuration`."),
        .init(
            "leewaySeconds", .integer(0...60), .none,
            "How far this issuer's clock may be from ours; null: `tokens.leewaySeconds`."),
        .init("claims.subject", .text(.claimName), .text("sub"), "The claim that names the user."),
        .init(
            "claims.device", .text(.claimName), .text("deviceId"),
            "The claim that names the device; rate limits count by it."),
        .init(
            "vouchesForDevice", .flag, .flag(false),
            "Whether this issuer proves the device, as by attestation: then a device is counted for all its users together."
        ),
        .init("claims.tier", .text(.claimName), .text("tier"), "The claim that names the subscription tier."),
        .init(
            "subjects", .choice(Issuer.Subjects.allCases.map(\.rawValue)), .none,
            "`plain`: a subject that is a safe user id is that user, which one issuer may have; `mapped`: every subject"
                + " becomes `u_` and a UUID of issuer and subject. null: `plain` for an only issuer, else `mapped`;"
                + " of several, one must say it."),
        .init(
            "for", .choice(Issuer.Use.allCases.map(\.rawValue)), .none,
            "`requests`: its tokens stand in requests; `session`: they are exchanged for a session. null: `session` with"
                + " a preset, else `requests`."),
        .init(
            "requireNonce", .flag, .none,
            "Whether an identity token without a nonce is refused; null: true with a preset, else false."),
        .init(
            "datesTokens", .flag, .flag(true),
            "false: its tokens have neither `iat` nor `nbf`, so a revocation cannot tell old from new and refuses all of"
                + " them; `check` and `user revoke` name it."),
    ]

    static let session: [SettingsRow] = [
        .init(
            "session.issuer", .text(.any), .none,
            "The claim `iss` of our own session tokens, such as this service's URL; null: there are no sessions."),
        .init("session.audience", .text(.any), .text("cloakroom"), "Their claim `aud`."),
        .init("session.lifetimeSeconds", .integer(60...86_400), .integer(3600), "How long a session token lives."),
        .init(
            "session.maximumAgeSeconds", .integer(60...31_536_000), .integer(2_592_000),
            "How long after the sign-in a session may be continued."),
        .init(
            "session.keys", .objects(sessionKey), .none,
            "What signs them: the first does; the others are still trusted, or will be."),
    ]

    private static let sessionKey: [SettingsRow] = [
        .init("keyID", .text(.keyID), .required, "Its `kid`, another for each key ever."),
        .init("privateKey", .privateKey, .none, "For ES256: a P-256 key, as `openssl genpkey` writes it (PEM)."),
        .init("secret", .signingKey, .none, "For HS256: at least 32 bytes, from a random generator."),
    ]
}
