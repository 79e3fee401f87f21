import CloakroomCrypto
import CloakroomJOSE

/// Makes issuers and sessions of the table's values, or tells what of them does not go together.
///
/// An issuer with a fault of its own is left out, and so is every check that needs it.
struct IdentitySettings {
    let values: SettingsEntries

    /// - Returns: all issuers, where there are no faults.
    func read() -> (issuers: [Issuer], faults: [SettingsError]) {
        guard case .objects(let objects)? = values.values["tokens.issuers"],
            SettingsTable.keys.session.rows.allSatisfy({ values.values[$0.path] != nil })
        else { return ([], []) }
        var issuers: [Issuer] = []
        var faults: [SettingsError] = []
        for (index, object) in objects.enumerated() {
            let settings = IssuerSettings(
                values: object, place: "tokens.issuers[\(index)]", isAlone: objects.count == 1)
            do throws(SettingsError) {
                guard let issuer = try settings.issuer() else { continue }
                if issuers.contains(where: { $0.name.hasSameBytes(as: issuer.name) }) {
                    throw SettingsError(
                        settings.place + ".issuer", "is there twice", "give each issuer once, with all its audiences")
                }
                if issuer.subjects == .plain, issuers.contains(where: { $0.subjects == .plain }) {
                    throw SettingsError(
                        settings.place + ".subjects", "is plain, as another issuer's are: its users would be the same",
                        "make one of them \"mapped\"")
                }
                issuers.append(issuer)
            } catch {
                faults.append(error)
            }
        }
        // Where an issuer is missing, what is said of all of them may be wrong.
        guard faults.isEmpty, issuers.count == objects.count else { return (issuers, faults) }
        return (issuers, [subjectsFault(objects), sessionFault(issuers)].compactMap(\.self))
    }

    /// A second issuer must not rename the first one's users, who were `plain` while it was alone, unsaid.
    private func subjectsFault(_ objects: [SettingsEntries]) -> SettingsError? {
        guard objects.count > 1, objects.allSatisfy({ $0.optionalText("subjects") == nil }) else { return nil }
        return SettingsError(
            "tokens.issuers", "are several, and none says subjects: a subject would no longer be its user id",
            "give subjects: \"plain\" to the issuer that was alone before, or \"mapped\" to one of them for all")
    }

    /// - Precondition: there are no faults.
    var session: Settings.Session? {
        values.optionalText("session.issuer").map { issuer in
            Settings.Session(
                issuer: issuer, audience: values.text("session.audience"),
                lifetime: values.seconds("session.lifetimeSeconds"),
                maximumAge: values.seconds("session.maximumAgeSeconds"),
                keys: values.optionalObjects("session.keys").compactMap { values in
                    try? values.privateKey("privateKey").map { try TokenSigningKey($0, keyID: values.text("keyID")) }
                        ?? values.key("secret").map { try TokenSigningKey($0, keyID: values.text("keyID")) }
                })
        }
    }

    private func sessionFault(_ issuers: [Issuer]) -> SettingsError? {
        if case .flag(false)? = values.values["entitlements.enabled"],
            let index = issuers.firstIndex(where: \.notifies)
        {
            return SettingsError(
                "tokens.issuers[\(index)].preset", "is apple, but no record is read that could disable a user",
                "set entitlements.enabled: true")
        }
        let keys = values.optionalObjects("session.keys")
        guard let name = values.optionalText("session.issuer") else {
            if !keys.isEmpty {
                return SettingsError("session.keys", "stands without session.issuer", "give both, or neither")
            }
            guard let index = issuers.firstIndex(where: { $0.use == .session }) else { return nil }
            return SettingsError(
                "tokens.issuers[\(index)].for", "is session, but there are no sessions",
                "set session.issuer and session.keys, or make it \"requests\"")
        }
        if let index = issuers.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
            return SettingsError(
                "session.issuer", "is tokens.issuers[\(index)], which is another issuer", "give a name of our own")
        }
        guard issuers.contains(where: { $0.use == .session }) else {
            return SettingsError(
                "session.issuer", "is given, but no issuer's tokens can be exchanged for a session",
                "give one of tokens.issuers for: \"session\"")
        }
        if values.integer("session.lifetimeSeconds") > values.integer("session.maximumAgeSeconds") {
            return SettingsError(
                "session.lifetimeSeconds", "is longer than session.maximumAgeSeconds", "give less, or raise the other")
        }
        guard !keys.isEmpty else {
            return SettingsError("session.keys", "is missing", "give at least one key with keyID and privateKey")
        }
        return keyFault(keys, issuers)
    }

    private func keyFault(_ keys: [SettingsEntries], _ issuers: [Issuer]) -> SettingsError? {
        guard keys.count <= KeySet.maximumAttempts else {
            return SettingsError("session.keys", "are more than \(KeySet.maximumAttempts)", "take the oldest out")
        }
        var names: Set<String> = []
        for (index, key) in keys.enumerated() {
            guard key.values["keyID"] != nil, key.values["privateKey"] != nil, key.values["secret"] != nil else {
                continue
            }
            let place = "session.keys[\(index)]"
            guard (key.privateKey("privateKey") == nil) != (key.key("secret") == nil) else {
                return SettingsError(place, "needs either privateKey or secret", "give one of the two")
            }
            if let secret = key.key("secret"), let other = issuers.firstIndex(where: { $0.signs(with: secret) }) {
                return SettingsError(
                    place + ".secret", "is that of tokens.issuers[\(other)], who could make our tokens with it",
                    "make another with: openssl rand -base64 32")
            }
            guard names.insert(key.text("keyID")).inserted else {
                return SettingsError(place + ".keyID", "is there twice", "give each key a name of its own")
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
