import CloakroomJOSE
import CloakroomJSON

extension SettingsTable {
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
}

/// Makes one issuer of the table's values, or tells what of them does not go together.
struct IssuerSettings {
    let values: SettingsValues<SettingsTable.Issuer>
    /// Such as `tokens.issuers[0]`.
    let path: String
    /// Whether there is no other.
    let isAlone: Bool

    /// - Returns: `nil` when some key has a fault of its own.
    func issuer() throws(SettingsError) -> Issuer? {
        guard values.areValid else { return nil }
        let isApple = values.preset != nil
        let name = try name(isApple)
        let keys = try keys(isApple, issuer: name)
        let algorithms = try algorithms(keys)
        try check(keys, serve: algorithms)
        let use = values.use ?? (isApple ? .session : .requests)
        if values.requireNonce == true, use == .requests {
            throw values.fault(
                \.requireNonce, "is true, but its tokens stand in requests, which have no nonce",
                "take it out, or make it for: \"session\"")
        }
        let subject = values.subjectClaim
        if isApple, subject != "sub" {
            throw values.fault(
                \.subjectClaim, "is \(JSON.string(subject).text), but Apple's notifications name users by sub",
                "take it out")
        }
        return Issuer(
            name: name, audiences: try audiences(isApple), algorithms: algorithms, keys: keys,
            claims: ClaimNames(
                subject: subject, device: values.deviceClaim,
                tier: values.tierClaim),
            use: use,
            subjects: values.subjects ?? (isAlone ? .plain : .mapped),
            requiresNonce: values.requireNonce ?? (isApple && use == .session),
            vouchesForDevice: values.vouchesForDevice, datesTokens: values.datesTokens,
            notifies: isApple,
            leeway: values.leewaySeconds.map { .seconds($0) })
    }

    // Apple, "Verifying a user" and "Fetch Apple's public key for verifying token signature".
    private static let appleName = "https://appleid.apple.com"
    private static let appleKeys = "https://appleid.apple.com/auth/keys"

    private func name(_ isApple: Bool) throws(SettingsError) -> String {
        if let name = values.issuer { return name }
        guard isApple else { throw values.fault(\.issuer, "is missing", "give: string. The claim `iss`, exactly.") }
        return Self.appleName
    }

    private func audiences(_ isApple: Bool) throws(SettingsError) -> [String] {
        switch (values.clientIDs, values.audiences) {
        case (_?, _?): throw values.fault(\.audiences, "stands beside clientIDs", "keep one of the two")
        case (let clients?, nil):
            guard isApple else { throw values.fault(\.clientIDs, "stands without a preset", "call them audiences") }
            return clients
        case (nil, let audiences?): return audiences
        case (nil, nil):
            throw values.fault(
                isApple ? \.clientIDs : \.audiences, "is missing",
                "give: array, each: string. One of them must be in the claim `aud`.")
        }
    }

    private func keys(_ isApple: Bool, issuer: String) throws(SettingsError) -> Issuer.Keys {
        let ways = [
            ("secret", values.secret != nil), ("keyFile", values.keyFile != nil), ("jwksURL", values.jwksURL != nil),
            ("discovery", values.discovery),
        ]
        .compactMap { $0.1 ? $0.0 : nil }
        guard ways.count <= 1 else {
            throw SettingsError(
                path, "names its keys in \(ways.count) ways: \(ways.joined(separator: ", "))", "keep one of them")
        }
        let (cause, remedy) = ("stands beside a preset", "take it out: Apple signs with keys that it publishes")
        if let key = values.secret {
            guard !isApple else { throw values.fault(\.secret, cause, remedy) }
            return .fixed(KeySet(own: [.hmac(key)]))
        }
        if values.discovery {
            guard !isApple else { throw values.fault(\.discovery, cause, remedy) }
            guard IssuerURL(issuer) != nil else {
                throw values.fault(
                    \.discovery, "needs an issuer that is an https URL", "give jwksURL, or that issuer")
            }
            return .discovery
        }
        if let file = values.keyFile { return .fixed(try keys(of: file.bytes)) }
        if let url = values.jwksURL { return .address(url) }
        guard isApple else {
            throw SettingsError(
                path, "names no keys", "give one of secret, keyFile, jwksURL and discovery: true")
        }
        return .address(Self.appleKeys)
    }

    private func keys(of file: [UInt8]) throws(SettingsError) -> KeySet {
        if let json = try? JSON(parsing: file, maximumDepth: 8) {
            guard let set = KeySet(jwks: json, origin: .own) else {
                throw values.fault(\.keyFile, "holds neither a JWK nor a JWK set", "put one there")
            }
            if let refusal = set.refusals.first {
                throw values.fault(
                    \.keyFile, "has a key at place \(refusal.place + 1) that \(refusal.fault)",
                    "fix it, or remove it")
            }
            guard !set.keys.isEmpty else { throw values.fault(\.keyFile, "holds an empty set", "put a key in it") }
            let unnamed = set.keys.count { $0.keyID == nil }
            guard unnamed <= KeySet.maximumAttempts else {
                throw values.fault(
                    \.keyFile,
                    "has \(unnamed) keys without a kid, of which a token is tried with \(KeySet.maximumAttempts)",
                    "name them, or take the oldest out")
            }
            guard set.keys.allSatisfy({ $0.secret == nil }) else {
                throw values.fault(\.keyFile, "holds a secret", "give it as secret; here are public keys")
            }
            return set
        }
        do { return KeySet(own: [try VerificationKey(pem: file)]) } catch {
            throw values.fault(\.keyFile, "\(error)", "give a PEM file with PUBLIC KEY, a JWK or a JWK set")
        }
    }

    private func algorithms(_ keys: Issuer.Keys) throws(SettingsError) -> Set<SignatureAlgorithm> {
        let isSecret = values.secret != nil
        guard let names = values.algorithms else {
            guard case .fixed(let set) = keys, !isSecret else { return isSecret ? [.hs256] : [.rs256, .es256] }
            // What the operator put here by hand may serve what it fits, but RSA one way only.
            let fitting = Set(set.keys.flatMap(\.algorithms))
            return fitting.isDisjoint(with: [.rs256, .es256]) ? fitting : fitting.intersection([.rs256, .es256])
        }
        let algorithms = names.compactMap(SignatureAlgorithm.init)
        for algorithm in algorithms where algorithm.isSymmetric != isSecret {
            throw values.fault(
                \.algorithms,
                "names \(algorithm.rawValue), which is "
                    + (isSecret ? "for public keys, beside a secret" : "for a secret, beside public keys"),
                isSecret ? "name HS256, HS384 or HS512, or give public keys" : "take it out, or give a secret")
        }
        return Set(algorithms)
    }

    /// An algorithm that no key serves is a mistake, and the next one would be to add a key for it in a hurry.
    private func check(_ keys: Issuer.Keys, serve algorithms: Set<SignatureAlgorithm>) throws(SettingsError) {
        guard case .fixed(let set) = keys else { return }
        let served = Set(set.keys.flatMap(\.algorithms))
        guard let idle = algorithms.subtracting(served).map(\.rawValue).min() else { return }
        throw values.fault(
            \.algorithms, "names \(idle), which no key here can serve", "take it out, or give a key for it")
    }
}
