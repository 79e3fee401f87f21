import CloakroomAWS
import CloakroomJSON

/// What each key may say alone, but not together with another.
///
/// A key with a fault of its own is absent here, and so is every check that needs it.
struct SettingsCheck {
    let values: SettingsValues<SettingsTable>
    /// Made once: each scope is checked, and its packed size estimated. `nil` where a value has a fault of its own.
    private(set) var scopes: Result<Scopes?, Scopes.ScopeError> = .success(nil)

    init(values: SettingsValues<SettingsTable>) {
        self.values = values
        guard hasScopeValues else { return }
        do throws(Scopes.ScopeError) { scopes = .success(try makeScopes()) } catch { scopes = .failure(error) }
    }

    var faults: [SettingsError] {
        [
            keyPair, sessionTokenAlone, partition, keyRegion, scopesFault, deadline, drain, renewalAge, anyOwner,
            ownPrefix, ownFolders, renewalKey, assumedBytes, auditTwice,
            sharedCache, tracingFault,
        ].compactMap(\.self) + lifecycleFaults + chatFaults + webFaults + prefixFaults + reservedFolderFaults
            + entitlementFaults + redisFaults + eventFaults
    }

    private func makeScopes() throws(Scopes.ScopeError) -> Scopes {
        var templates: [(name: String, json: JSON)] = []
        for (name, values) in values.vending.scopes ?? [] {
            guard let json = try? JSON(parsing: values.template.bytes) else {
                throw .policy(scope: name, .notJSON)
            }
            templates.append((name, json))
        }
        return try Scopes(
            PolicyTemplate(
                bucket: values.bucket, partition: partitionOfRole, store: values.vending.store,
                kms: kms),
            prefixes: values.vending.prefixes, templates: templates)
    }

    private var kms: KMSStatement? {
        guard let keys = values.valid(\.vending.kmsKeyARNs), let region = values.valid(\.region) else {
            return nil
        }
        return KMSStatement(keys: keys, bucket: values.bucket, partition: partitionOfRole, region: region)
    }

    /// S3 takes keys of the bucket's own Region only (Amazon S3 User Guide, "Using server-side encryption with AWS KMS
    /// keys").
    private var keyRegion: SettingsError? {
        guard let keys = values.valid(\.vending.kmsKeyARNs), let region = values.valid(\.region),
            let key = keys.first(where: { $0.split(separator: ":").dropFirst(3).first.map(String.init) != region })
        else { return nil }
        return values.fault(
            \.vending.kmsKeyARNs, "names \(key), but the bucket is in \(region)", "give keys of \(region)")
    }

    /// Of the built-in scopes and of the operator's own.
    var scopeNames: [String] {
        var names = BuiltInScope.allCases.map(\.rawValue)
        if let own = values.valid(\.vending.scopes) {
            names += own.map(\.name).filter { !names.contains($0) }
        }
        return names
    }

    /// Whether all is there that the scopes are made of.
    private var hasScopeValues: Bool {
        let vending = values.vending
        return values.isValid(\.region) && values.isValid(\.bucket) && vending.isValid(\.roleARN)
            && vending.isValid(\.prefixes) && vending.isValid(\.kmsKeyARNs) && vending.isValid(\.scope)
            && vending.isValid(\.store) && vending.isValid(\.scopes)
            && (vending.scopes ?? []).allSatisfy { $0.values.isValid(\.template) }
    }

    private var scopesFault: SettingsError? {
        switch scopes {
        case .success(nil): return nil
        case .success(.some):
            let name = values.vending.scope
            guard !scopeNames.contains(name) else { return nil }
            return values.fault(\.vending.scope, "is \"\(name)\", which is no scope", Self.remedy(name, scopeNames))
        case .failure(let error): return fault(error)
        }
    }

    private func fault(_ failure: Scopes.ScopeError) -> SettingsError {
        func own(_ scope: String) -> SettingsValues<SettingsTable.Scope>? {
            values.vending.scopes?.first { $0.name == scope }?.values
        }
        switch failure {
        case .policy(let scope, let error):
            return own(scope)?.fault(\.template, "the policy \(error)", error.remedy)
                ?? values.fault(\.vending.prefixes, "the policy \(error)", "name fewer or shorter prefixes")
        case .nested(let scope, let folder, let within):
            let level = folder.dropFirst(within.count).prefix { $0 != "/" }
            let cause = "has users' folders in \(folder), which the user \(level) would own as \(within)\(level)/"
            let remedy = "keep users' folders side by side, such as \(within)a/ and \(within)b/"
            return own(scope)?.fault(\.template, cause, remedy) ?? values.fault(\.vending.prefixes, cause, remedy)
        }
    }

    private var keyPair: SettingsError? {
        guard values.isValid(\.aws.accessKeyID), values.isValid(\.aws.secretAccessKey) else { return nil }
        let (cause, remedy) = ("is absent while the other half is there", "give both")
        switch (values.aws.accessKeyID, values.aws.secretAccessKey) {
        case (nil, _?): return values.fault(\.aws.accessKeyID, cause, remedy)
        case (_?, nil): return values.fault(\.aws.secretAccessKey, cause, remedy)
        case (nil, nil), (_?, _?): return nil
        }
    }

    private var sessionTokenAlone: SettingsError? {
        guard values.valid(\.aws.sessionToken) != nil, values.isValid(\.aws.accessKeyID), values.aws.accessKeyID == nil
        else { return nil }
        return values.fault(\.aws.sessionToken, "stands without an access key", "give all three, or none")
    }

    private var partition: SettingsError? {
        guard let region = values.valid(\.region), values.valid(\.vending.roleARN) != nil else { return nil }
        let expected = Partition(region: region).identifier
        guard expected != partitionOfRole else { return nil }
        return values.fault(
            \.vending.roleARN, "is in the partition \(partitionOfRole), but \(region) is in \(expected)",
            "give a role of \(expected), or a Region of \(partitionOfRole)")
    }

    private var partitionOfRole: String { Settings.Vending.partition(ofRole: values.valid(\.vending.roleARN) ?? "") }

    private var deadline: SettingsError? {
        guard let timeout = values.valid(\.aws.timeoutMilliseconds),
            let deadline = values.valid(\.server.requestDeadlineMilliseconds), timeout > deadline
        else { return nil }
        return values.fault(
            \.aws.timeoutMilliseconds, "is \(timeout), longer than the whole request's \(deadline)",
            "give less, or raise server.requestDeadlineMilliseconds")
    }

    private var drain: SettingsError? {
        guard let drain = values.valid(\.server.drainSeconds),
            let deadline = values.valid(\.server.requestDeadlineMilliseconds), drain * 1000 < deadline
        else { return nil }
        return values.fault(
            \.server.drainSeconds, "is \(drain), but one request may take \(deadline) ms",
            "give more, or lower server.requestDeadlineMilliseconds")
    }

    private var renewalAge: SettingsError? {
        guard let age = values.valid(\.renewal.minimumAgeSeconds), let days = values.valid(\.renewal.retentionDays),
            age * 2 > days * 86_400
        else { return nil }
        return values.fault(
            \.renewal.minimumAgeSeconds, "is \(age), more than half of the retention of \(days) days",
            "give less, or objects may expire before they count as old enough")
    }

    private var renewalKey: SettingsError? {
        guard let encryption = values.valid(\.renewal.encryption), !encryption.hasPrefix("aws:kms") else { return nil }
        let cause = "stands beside renewal.encryption \"\(encryption)\", which takes no key"
        let remedy = "set renewal.encryption to \"aws:kms\", or leave it out"
        if values.valid(\.renewal.kmsKeyID) != nil { return values.fault(\.renewal.kmsKeyID, cause, remedy) }
        if values.valid(\.renewal.bucketKey) != nil { return values.fault(\.renewal.bucketKey, cause, remedy) }
        return nil
    }

    private var anyOwner: SettingsError? {
        guard values.valid(\.renewal.keys) == .any,
            values.valid(\.renewal.requireOwnPrefix) == false,
            values.valid(\.renewal.allowAnyOwner) == false
        else { return nil }
        return values.fault(
            \.renewal.keys, "is \"any\", so that each user could keep every other's objects alive",
            "give renewal.requireOwnPrefix: true, or renewal.allowAnyOwner: true where that is wanted")
    }

    private var ownPrefix: SettingsError? {
        guard values.valid(\.renewal.requireOwnPrefix) == true, let prefix = values.valid(\.renewal.keyPrefix),
            let folders = values.valid(\.vending.prefixes),
            !folders.contains(where: { Settings.Vending.folder($0).hasPrefix(prefix) })
        else { return nil }
        return values.fault(
            \.renewal.requireOwnPrefix, "is true, but no user has a folder in \"\(prefix)\", where all keys are",
            "give renewal.keyPrefix \"\", or one of vending.prefixes")
    }

    /// As for scopes: where none of them is built in, nothing else has looked at the prefixes.
    private var ownFolders: SettingsError? {
        guard values.valid(\.renewal.requireOwnPrefix) == true, scopesFault == nil,
            let prefixes = values.valid(\.vending.prefixes)
        else { return nil }
        let folders = prefixes.map(Settings.Vending.folder)
        for outer in folders {
            for inner in folders {
                guard let owner = Scopes.owner(of: inner, within: outer) else { continue }
                return values.fault(
                    \.vending.prefixes,
                    "has users' folders in \(inner), all of which the user \(owner.text) could renew as"
                        + " \(outer)\(owner.text)/",
                    "keep users' folders side by side, such as \(outer)a/ and \(outer)b/")
            }
        }
        return nil
    }

    /// Apps that say no length, as the shipped ones, would be told to come back later for ever.
    private var assumedBytes: SettingsError? {
        guard values.valid(\.uploads.requireContentLength) == false,
            let assumed = values.valid(\.uploads.assumedBytes), let maximum = values.valid(\.uploads.maximumBytes)
        else { return nil }
        let bytes = values.limits.uploadBytes
        var limits = [
            (bytes.path(of: \.bytes), bytes.valid(\.bytes)), (bytes.path(of: \.userBytes), bytes.valid(\.userBytes)),
        ]
        for (_, tier) in values.valid(\.tiers) ?? [] {
            limits.append((tier.path(of: \.limits.uploadBytes), tier.valid(\.limits.uploadBytes)))
            limits.append((tier.path(of: \.userLimits.uploadBytes), tier.valid(\.userLimits.uploadBytes)))
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
        let cache = values.vending.credentialCache
        guard cache.valid(\.shared.enabled) == true, cache.isValid(\.shared.keys) else { return nil }
        guard cache.shared.keys != nil else {
            return cache.fault(
                \.shared.keys, "is missing: nothing goes to Redis unsealed",
                "give a secret made with: openssl rand -base64 32")
        }
        guard cache.valid(\.enabled) == false else { return nil }
        return cache.fault(
            \.shared.enabled, "is true without the cache of each worker",
            "set vending.credentialCache.enabled to true")
    }

    private var auditTwice: SettingsError? {
        guard values.valid(\.audit.file) != nil, values.valid(\.audit.stream) != nil else { return nil }
        return values.fault(\.audit.stream, "stands beside audit.file", "keep one of the two")
    }
}
