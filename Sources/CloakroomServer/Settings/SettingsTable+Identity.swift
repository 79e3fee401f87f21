/// The keys that say whose tokens are trusted, and which we make ourselves.
extension SettingsTable {
    struct Tokens: SettingsGroup {
        let header = SettingsKey(
            "tokens.header", .text(.headerName), default: "X-Convos-AuthToken",
            "A header that may carry the token, besides `Authorization: Bearer`.")
        let leewaySeconds = SettingsKey(
            "tokens.leewaySeconds", .integer(0...60), default: 30, "How far an issuer's clock may be from ours.")
        let certificateAuthorities = SettingsKey(
            optional: "tokens.certificateAuthorities", .file,
            "PEM file of whom to trust when keys are fetched; null: whom the system trusts.")
        let issuers = SettingsKey(
            required: "tokens.issuers", .objects(Issuer()), "Whose tokens are trusted; at least one.")
    }

    /// One of `tokens.issuers`.
    struct Issuer: SettingsGroup {
        let preset = SettingsKey(
            optional: "preset", .choice(["apple"]),
            "`apple` fills in issuer, keys and algorithms of Sign in with Apple, and `for: \"session\"`.")
        let clientIDs = SettingsKey(
            optional: "clientIDs", .texts(.any), "With `apple`: bundle and services ids; they are its audiences.")
        let issuer = SettingsKey(
            optional: "issuer", .text(.any), "The claim `iss`, exactly; required without a preset.")
        let audiences = SettingsKey(
            optional: "audiences", .texts(.any), "One of them must be in the claim `aud`; required without a preset.")
        let algorithms = SettingsKey(
            optional: "algorithms", .texts(.algorithm),
            "What this issuer signs with; null: HS256 with a `secret`, else RS256 and ES256, or what the `keyFile` is for."
        )
        let secret = SettingsKey(
            optional: "secret", .signingKey, "Key of HS256, HS384, HS512: at least 32 bytes, from a random generator.")
        let keyFile = SettingsKey(optional: "keyFile", .file, "Public keys: a PEM file, a JWK or a JWK set.")
        let jwksURL = SettingsKey(optional: "jwksURL", .text(.issuerURL), "Where the issuer publishes its JWK set.")
        let discovery = SettingsKey(
            "discovery", .flag, default: false,
            "Whether the set's address stands in `<issuer>/.well-known/openid-configuration`.")
        let leewaySeconds = SettingsKey(
            optional: "leewaySeconds", .integer(0...60),
            "How far this issuer's clock may be from ours; null: `tokens.leewaySeconds`.")
        let subjectClaim = SettingsKey(
            "claims.subject", .text(.claimName), default: "sub", "The claim that names the user.")
        let deviceClaim = SettingsKey(
            "claims.device", .text(.claimName), default: "deviceId",
            "The claim that names the device; rate limits count by it.")
        let vouchesForDevice = SettingsKey(
            "vouchesForDevice", .flag, default: false,
            "Whether this issuer proves the device, as by attestation: then a device is counted for all its users together."
        )
        let tierClaim = SettingsKey(
            "claims.tier", .text(.claimName), default: "tier", "The claim that names the subscription tier.")
        let subjects = SettingsKey(
            optional: "subjects", .choice(of: CloakroomServer.Issuer.Subjects.self),
            "`plain`: a subject that is a safe user id is that user, which one issuer may have; `mapped`: every subject"
                + " becomes `u_` and a UUID of issuer and subject. null: `plain` for an only issuer, else `mapped`;"
                + " of several, one must say it.")
        let use = SettingsKey(
            optional: "for", .choice(of: CloakroomServer.Issuer.Use.self),
            "`requests`: its tokens stand in requests; `session`: they are exchanged for a session. null: `session` with"
                + " a preset, else `requests`.")
        let requireNonce = SettingsKey(
            optional: "requireNonce", .flag,
            "Whether an identity token without a nonce is refused; null: true with a preset, else false.")
        let datesTokens = SettingsKey(
            "datesTokens", .flag, default: true,
            "false: its tokens have neither `iat` nor `nbf`, so a revocation cannot tell old from new and refuses all of"
                + " them; `check` and `user revoke` name it.")
    }

    struct Session: SettingsGroup {
        let issuer = SettingsKey(
            optional: "session.issuer", .text(.any),
            "The claim `iss` of our own session tokens, such as this service's URL; null: there are no sessions.")
        let audience = SettingsKey("session.audience", .text(.any), default: "cloakroom", "Their claim `aud`.")
        let lifetimeSeconds = SettingsKey(
            "session.lifetimeSeconds", .integer(60...86_400), default: 3600, "How long a session token lives.")
        let maximumAgeSeconds = SettingsKey(
            "session.maximumAgeSeconds", .integer(60...31_536_000), default: 2_592_000,
            "How long after the sign-in a session may be continued.")
        let keys = SettingsKey(
            optional: "session.keys", .objects(SessionKey()),
            "What signs them: the first does; the others are still trusted, or will be.")
    }

    /// One of `session.keys`.
    struct SessionKey: SettingsGroup {
        let keyID = SettingsKey(required: "keyID", .text(.keyID), "Its `kid`, another for each key ever.")
        let privateKey = SettingsKey(
            optional: "privateKey", .privateKey, "For ES256: a P-256 key, as `openssl genpkey` writes it (PEM).")
        let secret = SettingsKey(
            optional: "secret", .signingKey, "For HS256: at least 32 bytes, from a random generator.")
    }
}
