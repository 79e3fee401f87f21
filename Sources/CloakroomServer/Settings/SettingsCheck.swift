import CloakroomAWS
import CloakroomJSON

/// What each key may say alone, but not together with another.
///
/// A key with a fault of its own is absent here, and so is every check that needs it.
struct SettingsCheck {
    let values: SettingsEntries
    /// Made once: each scope is checked, and its packed size estimated. `nil` where a value has a fault of its own.
    private(set) var scopes: Result<Scopes?, Scopes.ScopeError> = .success(nil)

    init(values: SettingsEntries) {
        self.values = values
        guard hasScopeValues else { return }
        do throws(Scopes.ScopeError) { scopes = .success(try makeScopes()) } catch { scopes = .failure(error) }
    }

    var faults: [SettingsError] {
        [
            keyPair, sessionTokenAlone, partition, keyRegion, scopesFault, deadline,
            redisDeadline, drain, renewalAge, anyOwner, ownPrefix, ownFolders, renewalKey, assumedBytes, auditTwice,
            sharedCache,
        ].compactMap(\.self) + lifecycleFaults + prefixFaults + entitlementFaults
    }

    private func makeScopes() throws(Scopes.ScopeError) -> Scopes {
        var templates: [(name: String, json: JSON)] = []
        for (name, values) in values.named("vending.scopes") {
            guard let json = values.file("template").flatMap({ try? JSON(parsing: $0.bytes) }) else {
                throw .policy(scope: name, .notJSON)
            }
            templates.append((name, json))
        }
        return try Scopes(
            PolicyTemplate(
                bucket: values.text("bucket"), partition: partitionOfRole, store: values.choice("vending.store"),
                kms: kms),
            prefixes: values.texts("vending.prefixes"), templates: templates)
    }

    private var kms: KMSStatement? {
        guard case .texts(let keys)? = values.values["vending.kmsKeyARNs"], let region = text("region") else {
            return nil
        }
        return KMSStatement(keys: keys, bucket: values.text("bucket"), partition: partitionOfRole, region: region)
    }

    /// S3 takes keys of the bucket's own Region only (Amazon S3 User Guide, "Using server-side encryption with AWS KMS
    /// keys").
    private var keyRegion: SettingsError? {
        guard case .texts(let keys)? = values.values["vending.kmsKeyARNs"], let region = text("region"),
            let key = keys.first(where: { $0.split(separator: ":").dropFirst(3).first.map(String.init) != region })
        else { return nil }
        return SettingsError(
            "vending.kmsKeyARNs", "names \(key), but the bucket is in \(region)", "give keys of \(region)")
    }

    /// Of the built-in scopes and of the operator's own.
    var scopeNames: [String] {
        var names = BuiltInScope.allCases.map(\.rawValue)
        if case .named(let own)? = values.values["vending.scopes"] {
            names += own.map(\.name).filter { !names.contains($0) }
        }
        return names
    }

    /// Whether all is there that the scopes are made of.
    private var hasScopeValues: Bool {
        let needed = [
            "region", "bucket", "vending.roleARN", "vending.prefixes", "vending.kmsKeyARNs", "vending.scopes",
            "vending.scope", "vending.store",
        ]
        return needed.allSatisfy { values.values[$0] != nil }
            && values.named("vending.scopes").allSatisfy { $0.values.values["template"] != nil }
    }

    private var scopesFault: SettingsError? {
        switch scopes {
        case .success(nil): return nil
        case .success(.some):
            let name = values.text("vending.scope")
            guard !scopeNames.contains(name) else { return nil }
            return SettingsError("vending.scope", "is \"\(name)\", which is no scope", Self.remedy(name, scopeNames))
        case .failure(let error): return fault(error)
        }
    }

    private func fault(_ failure: Scopes.ScopeError) -> SettingsError {
        func isOwn(_ scope: String) -> Bool { values.named("vending.scopes").contains { $0.name == scope } }
        switch failure {
        case .policy(let scope, let error):
            return isOwn(scope)
                ? SettingsError("vending.scopes.\(scope).template", "the policy \(error)", error.remedy)
                : SettingsError("vending.prefixes", "the policy \(error)", "name fewer or shorter prefixes")
        case .nested(let scope, let folder, let within):
            let level = folder.dropFirst(within.count).prefix { $0 != "/" }
            return SettingsError(
                isOwn(scope) ? "vending.scopes.\(scope).template" : "vending.prefixes",
                "has users' folders in \(folder), which the user \(level) would own as \(within)\(level)/",
                "keep users' folders side by side, such as \(within.isEmpty ? "" : within)a/ and \(within)b/")
        }
    }

    private var keyPair: SettingsError? {
        guard let id = values.values["aws.accessKeyID"], let secret = values.values["aws.secretAccessKey"],
            id.isAbsent != secret.isAbsent
        else { return nil }
        return SettingsError(
            id.isAbsent ? "aws.accessKeyID" : "aws.secretAccessKey", "is absent while the other half is there",
            "give both")
    }

    private var sessionTokenAlone: SettingsError? {
        guard let token = values.values["aws.sessionToken"], !token.isAbsent,
            let id = values.values["aws.accessKeyID"], id.isAbsent
        else { return nil }
        return SettingsError("aws.sessionToken", "stands without an access key", "give all three, or none")
    }

    private var partition: SettingsError? {
        guard let region = text("region"), text("vending.roleARN") != nil else { return nil }
        let expected = Self.partition(ofRegion: region)
        guard expected != partitionOfRole else { return nil }
        return SettingsError(
            "vending.roleARN", "is in the partition \(partitionOfRole), but \(region) is in \(expected)",
            "give a role of \(expected), or a Region of \(partitionOfRole)")
    }

    private var partitionOfRole: String { Settings.Vending.partition(ofRole: text("vending.roleARN") ?? "") }

    /// botocore, data/partitions.json: the Regions of a partition share the beginning of their names.
    private static func partition(ofRegion region: String) -> String {
        [
            ("cn-", "aws-cn"), ("us-gov-", "aws-us-gov"), ("us-iso-", "aws-iso"), ("us-isob-", "aws-iso-b"),
            ("eu-isoe-", "aws-iso-e"), ("us-isof-", "aws-iso-f"), ("eusc-", "aws-eusc"),
        ].first { region.hasPrefix($0.0) }?.1 ?? "aws"
    }

    private var deadline: SettingsError? {
        guard let timeout = integer("aws.timeoutMilliseconds"),
            let deadline = integer("server.requestDeadlineMilliseconds"), timeout > deadline
        else { return nil }
        return SettingsError(
            "aws.timeoutMilliseconds", "is \(timeout), longer than the whole request's \(deadline)",
            "give less, or raise server.requestDeadlineMilliseconds")
    }

    private var redisDeadline: SettingsError? {
        guard let timeout = integer("redis.timeoutMilliseconds"),
            let deadline = integer("server.requestDeadlineMilliseconds"), timeout >= deadline
        else { return nil }
        return SettingsError(
            "redis.timeoutMilliseconds", "is \(timeout), not shorter than the whole request's \(deadline)",
            "give less, or raise server.requestDeadlineMilliseconds")
    }

    private var drain: SettingsError? {
        guard let drain = integer("server.drainSeconds"),
            let deadline = integer("server.requestDeadlineMilliseconds"), drain * 1000 < deadline
        else { return nil }
        return SettingsError(
            "server.drainSeconds", "is \(drain), but one request may take \(deadline) ms",
            "give more, or lower server.requestDeadlineMilliseconds")
    }

    private var renewalAge: SettingsError? {
        guard let age = integer("renewal.minimumAgeSeconds"), let days = integer("renewal.retentionDays"),
            age * 2 > days * 86_400
        else { return nil }
        return SettingsError(
            "renewal.minimumAgeSeconds", "is \(age), more than half of the retention of \(days) days",
            "give less, or objects may expire before they count as old enough")
    }

    private var renewalKey: SettingsError? {
        guard let encryption = text("renewal.encryption"), !encryption.hasPrefix("aws:kms") else { return nil }
        let path = ["renewal.kmsKeyID", "renewal.bucketKey"].first { values.values[$0].map { !$0.isAbsent } == true }
        guard let path else { return nil }
        return SettingsError(
            path, "stands beside renewal.encryption \"\(encryption)\", which takes no key",
            "set renewal.encryption to \"aws:kms\", or leave it out")
    }

    private var anyOwner: SettingsError? {
        guard text("renewal.keys") == Settings.Renewal.Keys.any.rawValue,
            case .flag(false)? = values.values["renewal.requireOwnPrefix"],
            case .flag(false)? = values.values["renewal.allowAnyOwner"]
        else { return nil }
        return SettingsError(
            "renewal.keys", "is \"any\", so that each user could keep every other's objects alive",
            "give renewal.requireOwnPrefix: true, or renewal.allowAnyOwner: true where that is wanted")
    }

    private var ownPrefix: SettingsError? {
        guard case .flag(true)? = values.values["renewal.requireOwnPrefix"], let prefix = text("renewal.keyPrefix"),
            case .texts(let folders)? = values.values["vending.prefixes"],
            !folders.contains(where: { Settings.Vending.folder($0).hasPrefix(prefix) })
        else { return nil }
        return SettingsError(
            "renewal.requireOwnPrefix", "is true, but no user has a folder in \"\(prefix)\", where all keys are",
            "give renewal.keyPrefix \"\", or one of vending.prefixes")
    }

    /// As for scopes: where none of them is built in, nothing else has looked at the prefixes.
    private var ownFolders: SettingsError? {
        guard case .flag(true)? = values.values["renewal.requireOwnPrefix"], scopesFault == nil,
            case .texts(let prefixes)? = values.values["vending.prefixes"]
        else { return nil }
        let folders = prefixes.map(Settings.Vending.folder)
        for outer in folders {
            for inner in folders {
                guard let owner = Scopes.owner(of: inner, within: outer) else { continue }
                return SettingsError(
                    "vending.prefixes",
                    "has users' folders in \(inner), all of which the user \(owner.text) could renew as"
                        + " \(outer)\(owner.text)/",
                    "keep users' folders side by side, such as \(outer)a/ and \(outer)b/")
            }
        }
        return nil
    }

    /// Apps that say no length, as the shipped ones, would be told to come back later for ever.
    private var assumedBytes: SettingsError? {
        guard case .flag(false)? = values.values["uploads.requireContentLength"],
            let assumed = integer("uploads.assumedBytes"), let maximum = integer("uploads.maximumBytes")
        else { return nil }
        var limits = ["bytes", "userBytes"].map { ("limits.uploadBytes.\($0)", integer("limits.uploadBytes.\($0)")) }
        if case .named(let tiers)? = values.values["tiers"] {
            limits += tiers.flatMap { name, values in
                ["limits.uploadBytes", "userLimits.uploadBytes"].map {
                    ("tiers.\(name).\($0)", SettingsCheck(values: values).integer($0))
                }
            }
        }
        for (path, limit) in limits {
            guard let limit, limit < min(assumed, maximum) else { continue }
            return SettingsError(
                path,
                "is \(limit), but an upload without a length counts for \(min(assumed, maximum)):"
                    + " none would be let in",
                "give more, or lower uploads.assumedBytes, or uploads.requireContentLength: true")
        }
        return nil
    }

    private var sharedCache: SettingsError? {
        guard case .flag(true)? = values.values["vending.credentialCache.shared.enabled"],
            let keys = values.values["vending.credentialCache.shared.keys"]
        else { return nil }
        if keys.isAbsent {
            return SettingsError(
                "vending.credentialCache.shared.keys", "is missing: nothing goes to Redis unsealed",
                "give a secret made with: openssl rand -base64 32")
        }
        guard case .flag(false)? = values.values["vending.credentialCache.enabled"] else { return nil }
        return SettingsError(
            "vending.credentialCache.shared.enabled", "is true without the cache of each worker",
            "set vending.credentialCache.enabled to true")
    }

    private var auditTwice: SettingsError? {
        guard text("audit.file") != nil, text("audit.stream") != nil else { return nil }
        return SettingsError("audit.stream", "stands beside audit.file", "keep one of the two")
    }

    func text(_ path: String) -> String? {
        if case .text(let text)? = values.values[path] { text } else { nil }
    }

    func integer(_ path: String) -> Int? {
        if case .integer(let number)? = values.values[path] { number } else { nil }
    }
}

extension SettingsValue {
    fileprivate var isAbsent: Bool { if case .absent = self { true } else { false } }
}
