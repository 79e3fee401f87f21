import CloakroomCrypto
package import CloakroomJOSE

extension Settings {
    package struct Tokens: Sendable {
        /// Read besides `Authorization`.
        package var header: String
        /// How far an issuer's clock may be from ours.
        package var leeway: Duration
        /// For fetching keys: a PEM file; `nil` means the system's.
        package var certificateAuthorities: String?
        package var issuers: [Issuer]

        /// How far the clock of the issuer may be from ours that tolerates least.
        package var smallestLeeway: Duration { issuers.map { $0.leeway ?? leeway }.min() ?? leeway }

        /// How far any clock may be from ours that dates tokens; session tokens have no leeway but ``leeway``.
        package var largestLeeway: Duration { max(leeway, issuers.compactMap(\.leeway).max() ?? leeway) }
    }

    /// Our own tokens.
    package struct Session: Sendable {
        package var issuer: String
        package var audience: String
        package var lifetime: Duration
        /// Since the sign-in.
        package var maximumAge: Duration
        /// At least one; the first signs.
        package var keys: [TokenSigningKey]
    }
}

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

extension Settings.Tokens {
    init(_ values: SettingsValues<SettingsTable.Tokens>, issuers: [Issuer]) {
        header = values.header
        leeway = .seconds(values.leewaySeconds)
        certificateAuthorities = values.certificateAuthorities?.path
        self.issuers = issuers
    }
}

/// Makes issuers and sessions of the table's values, or tells what of them does not go together.
///
/// An issuer with a fault of its own is left out, and so is every check that needs it.
struct IdentitySettings {
    let values: SettingsValues<SettingsTable>

    /// - Returns: all issuers, where there are no faults.
    func read() -> (issuers: [Issuer], faults: [SettingsError]) {
        guard let objects = values.valid(\.tokens.issuers), values.session.areValid else { return ([], []) }
        var issuers: [Issuer] = []
        var faults: [SettingsError] = []
        for (index, object) in objects.enumerated() {
            let settings = IssuerSettings(
                values: object, path: "\(values.path(of: \.tokens.issuers))[\(index)]", isAlone: objects.count == 1)
            do throws(SettingsError) {
                guard let issuer = try settings.issuer() else { continue }
                if issuers.contains(where: { $0.name.hasSameBytes(as: issuer.name) }) {
                    throw object.fault(\.issuer, "is there twice", "give each issuer once, with all its audiences")
                }
                if issuer.subjects == .plain, issuers.contains(where: { $0.subjects == .plain }) {
                    throw object.fault(
                        \.subjects, "is plain, as another issuer's are: its users would be the same",
                        "make one of them \"mapped\"")
                }
                issuers.append(issuer)
            } catch {
                faults.append(error)
            }
        }
        // Where an issuer is missing, what is said of all of them may be wrong.
        guard faults.isEmpty, issuers.count == objects.count else { return (issuers, faults) }
        return (issuers, [subjectsFault(objects), sessionFault(objects, issuers)].compactMap(\.self))
    }

    /// A second issuer must not rename the first one's users, who were `plain` while it was alone, unsaid.
    private func subjectsFault(_ objects: [SettingsValues<SettingsTable.Issuer>]) -> SettingsError? {
        guard objects.count > 1, objects.allSatisfy({ $0.subjects == nil }) else { return nil }
        return values.fault(
            \.tokens.issuers, "are several, and none says subjects: a subject would no longer be its user id",
            "give subjects: \"plain\" to the issuer that was alone before, or \"mapped\" to one of them for all")
    }

    /// - Precondition: there are no faults.
    var session: Settings.Session? {
        let session = values.session
        return session.issuer.map { issuer in
            Settings.Session(
                issuer: issuer, audience: session.audience,
                lifetime: .seconds(session.lifetimeSeconds),
                maximumAge: .seconds(session.maximumAgeSeconds),
                keys: (session.keys ?? []).compactMap { key in
                    try? key.privateKey.map { try TokenSigningKey($0, keyID: key.keyID) }
                        ?? key.secret.map { try TokenSigningKey($0, keyID: key.keyID) }
                })
        }
    }

    private func sessionFault(
        _ objects: [SettingsValues<SettingsTable.Issuer>], _ issuers: [Issuer]
    ) -> SettingsError? {
        if values.valid(\.entitlements.enabled) == false, let index = issuers.firstIndex(where: \.notifies) {
            return objects[index].fault(
                \.preset, "is apple, but no record is read that could disable a user",
                "set entitlements.enabled: true")
        }
        let session = values.session
        let keys = session.keys ?? []
        guard let name = session.issuer else {
            if !keys.isEmpty { return session.fault(\.keys, "stands without session.issuer", "give both, or neither") }
            guard let index = issuers.firstIndex(where: { $0.use == .session }) else { return nil }
            return objects[index].fault(
                \.use, "is session, but there are no sessions",
                "set session.issuer and session.keys, or make it \"requests\"")
        }
        if let index = issuers.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
            return session.fault(
                \.issuer, "is tokens.issuers[\(index)], which is another issuer", "give a name of our own")
        }
        guard issuers.contains(where: { $0.use == .session }) else {
            return session.fault(
                \.issuer, "is given, but no issuer's tokens can be exchanged for a session",
                "give one of tokens.issuers for: \"session\"")
        }
        if session.lifetimeSeconds > session.maximumAgeSeconds {
            return session.fault(
                \.lifetimeSeconds, "is longer than session.maximumAgeSeconds", "give less, or raise the other")
        }
        guard !keys.isEmpty else {
            return session.fault(\.keys, "is missing", "give at least one key with keyID and privateKey")
        }
        return keyFault(keys, issuers)
    }

    private func keyFault(
        _ keys: [SettingsValues<SettingsTable.SessionKey>], _ issuers: [Issuer]
    ) -> SettingsError? {
        guard keys.count <= KeySet.maximumAttempts else {
            return values.fault(\.session.keys, "are more than \(KeySet.maximumAttempts)", "take the oldest out")
        }
        var names: Set<String> = []
        for (index, key) in keys.enumerated() where key.areValid {
            guard (key.privateKey == nil) != (key.secret == nil) else {
                return SettingsError(
                    "\(values.path(of: \.session.keys))[\(index)]", "needs either privateKey or secret",
                    "give one of the two")
            }
            if let secret = key.secret, let other = issuers.firstIndex(where: { $0.signs(with: secret) }) {
                return key.fault(
                    \.secret, "is that of tokens.issuers[\(other)], who could make our tokens with it",
                    "make another with: openssl rand -base64 32")
            }
            guard names.insert(key.keyID).inserted else {
                return key.fault(\.keyID, "is there twice", "give each key a name of its own")
            }
        }
        return nil
    }
}

extension Issuer {
    fileprivate func signs(with secret: HMACKey) -> Bool {
        guard case .fixed(let set) = keys else { return false }
        return set.keys.contains { $0.secret?.makesSameCodes(as: secret) == true }
    }
}
