import CloakroomAWS
import CloakroomJOSE
import CloakroomJSON

extension Settings {
    /// Reads a JSON5 file; finds all faults before it gives up.
    ///
    /// - Parameter file: where the settings are; relative paths in them start in its folder. Under systemd the unit's
    ///   credentials go before it: `LoadCredential=secrets:FOLDER` provides `secrets/token` as `secrets_token`
    ///   (systemd.exec(5), "Credentials").
    /// - Parameter readFile: the bytes of a file, `nil` when it cannot be read.
    package static func load(
        file: String, environment: [String: String], readFile: @escaping (String) -> [UInt8]?
    ) throws(SettingsErrors) -> Settings {
        guard let text = readFile(file) else {
            throw SettingsErrors(faults: [
                SettingsError("", "the file \(file) cannot be read", "name a file that the worker may read")
            ])
        }
        let tree: JSON.Object
        do { tree = try SettingsTree.root(of: text) } catch { throw SettingsErrors(faults: [error]) }
        let folder = file.lastIndex(of: "/").map { file[...$0] } ?? ""
        return try load(tree, environment: environment) { name in
            guard !name.hasPrefix("/") else { return readFile(name) }
            let provided = environment["CREDENTIALS_DIRECTORY"].flatMap {
                readFile("\($0)/\(name.replacing("/", with: "_"))")
            }
            return provided ?? readFile(folder + name)
        }
    }

    /// - Parameter onRead: called with the path of each key whose value is read.
    static func load(
        _ tree: JSON.Object, environment: [String: String], readFile: @escaping (String) -> [UInt8]?,
        onRead: ((String) -> Void)? = nil
    ) throws(SettingsErrors) -> Settings {
        var reader = SettingsReader(environment: environment, readFile: readFile)
        reader.onRead = onRead
        let values = SettingsValues(SettingsTable.keys, reader.read(SettingsTable.rows, from: tree))
        let check = SettingsCheck(values: values)
        let identity = IdentitySettings(values: values).read()
        var faults = reader.faults + check.faults + identity.faults
        let access: AWSAccess?
        do throws(SettingsError) {
            access = try AWSAccessReader(
                values: values, environment: AWSEnvironment(environment), readFile: readFile
            ).access()
            if access?.sendsSessionToken == true { faults += check.chainedLifetimeFaults }
        } catch {
            access = nil
            faults.append(error)
        }
        guard faults.isEmpty, let access else { throw SettingsErrors(faults: faults) }
        guard case .success(let scopes?) = check.scopes, let scope = scopes[values.vending.scope] else {
            preconditionFailure("the check lets through a scope that is none")
        }
        return Settings(values, aws: access, issuers: identity.issuers, scopes: scopes, scope: scope)
    }
}

extension Settings {
    /// - Precondition: the values are without a fault.
    fileprivate init(
        _ values: SettingsValues<SettingsTable>, aws: AWSAccess, issuers: [Issuer], scopes: Scopes, scope: Scope
    ) {
        region = values.region
        bucket = values.bucket
        self.aws = aws
        tokens = Tokens(
            header: values.tokens.header,
            leeway: .seconds(values.tokens.leewaySeconds),
            certificateAuthorities: values.tokens.certificateAuthorities?.path,
            issuers: issuers)
        session = IdentitySettings(values: values).session
        vending = Vending(values.vending, scopes: scopes, scope: scope)
        let vending = vending
        tiers = Dictionary(
            uniqueKeysWithValues: (values.tiers ?? []).map { ($0.name, Tier($0.values, vending)) })
        entitlements = Entitlements(
            enabled: values.entitlements.enabled, withoutRecord: values.entitlements.withoutRecord)
        uploads = Uploads(values.uploads)
        renewal = Renewal(values, vending)
        lifecycle = Lifecycle(values)
        limits = Limits(values.limits)
        redis = Redis(values.redis)
        audit = Audit(values.audit)
        log = Log(level: values.log.level)
        server = Server(values.server)
    }
}

extension Settings.Vending {
    fileprivate init(_ values: SettingsValues<SettingsTable.Vending>, scopes: Scopes, scope: Scope) {
        self.init(
            roleARN: values.roleARN,
            store: values.store,
            lifetime: .seconds(values.lifetimeSeconds),
            externalID: values.externalID,
            scopes: scopes,
            scope: scope,
            prefixes: values.prefixes,
            defaultTier: values.defaultTier,
            credentialCache: Settings.CredentialCache(
                enabled: values.credentialCache.enabled,
                maximumEntries: values.credentialCache.maximumEntries,
                sharedKeys: values.credentialCache.shared.enabled ? values.credentialCache.shared.keys ?? [] : []))
    }
}

extension Settings.Uploads {
    fileprivate init(_ values: SettingsValues<SettingsTable.Uploads>) {
        self.init(
            contentTypes: values.contentTypes,
            lifetime: .seconds(values.lifetimeSeconds),
            keyPrefix: values.keyPrefix,
            assetBaseURL: values.assetBaseURL,
            maximumBytes: values.maximumBytes,
            requiresContentLength: values.requireContentLength,
            assumedBytes: values.assumedBytes,
            idKeys: values.idKeys ?? [],
            multipartLifetime: .seconds(values.multipartLifetimeSeconds))
    }
}

extension Settings.Renewal {
    fileprivate init(_ values: SettingsValues<SettingsTable>, _ vending: Settings.Vending) {
        let renewal = values.renewal
        self.init(
            mode: renewal.mode,
            storageClass: renewal.storageClass,
            minimumAge: .seconds(renewal.minimumAgeSeconds),
            keyPrefix: renewal.keyPrefix,
            otherPrefixes: Self.otherPrefixes(renewal, uploads: values.uploads.keyPrefix),
            maximumInFlight: renewal.maximumInFlight,
            partialFailure: renewal.partialFailure,
            retention: .seconds(86_400) * renewal.retentionDays,
            encryption: RenewalSettings.Encryption(renewal),
            acl: renewal.acl,
            keys: renewal.keys,
            ownFolders: renewal.requireOwnPrefix ? vending.prefixes.map(Settings.Vending.folder) : nil)
    }

    private static func otherPrefixes(
        _ values: SettingsValues<SettingsTable.Renewal>, uploads: String
    ) -> [String] {
        guard values.keys == .names, !values.requireOwnPrefix else { return [] }
        var prefixes = [values.keyPrefix]
        for prefix in [uploads] + (values.formerPrefixes ?? []) where !prefixes.contains(prefix) {
            prefixes.append(prefix)
        }
        return Array(prefixes.dropFirst())
    }
}

extension RenewalSettings.Encryption {
    /// - Returns: `nil` for what the bucket does by default.
    fileprivate init?(_ values: SettingsValues<SettingsTable.Renewal>) {
        guard values.encryption != "bucket" else { return nil }
        self.init(algorithm: values.encryption, keyID: values.kmsKeyID, usesBucketKey: values.bucketKey)
    }
}

extension Settings.Tier {
    /// - Parameter vending: what it has where it names nothing of its own.
    fileprivate init(_ values: SettingsValues<SettingsTable.Tier>, _ vending: Settings.Vending) {
        self.init(
            lifetime: values.lifetimeSeconds.map { .seconds($0) } ?? vending.lifetime,
            scope: values.scope.flatMap { vending.scopes[$0] } ?? vending.scope,
            renewals: values.limits.renew,
            vends: values.limits.vend,
            uploads: values.limits.upload,
            renewedKeys: values.limits.renewKeys,
            uploadedBytes: values.limits.uploadBytes,
            userRenewals: values.userLimits.renew,
            userVends: values.userLimits.vend,
            userUploads: values.userLimits.upload,
            userRenewedKeys: values.userLimits.renewKeys,
            userUploadedBytes: values.userLimits.uploadBytes,
            storageLimit: values.storageLimitBytes,
            requiresSubscription: values.requiresSubscription)
    }
}

extension Settings.Limits {
    fileprivate init(_ values: SettingsValues<SettingsTable.Limits>) {
        let (keys, bytes) = (values.renewKeys, values.uploadBytes)
        self.init(
            renew: Settings.Limit(values.renew),
            renewKeys: Settings.Limit(
                quota: keys.keys, userQuota: keys.userKeys, window: .seconds(keys.windowSeconds),
                whenRedisIsAway: values.renew.whenRedisIsAway),
            vend: Settings.Limit(values.vend),
            upload: Settings.Limit(values.upload),
            uploadBytes: Settings.Limit(
                quota: bytes.bytes, userQuota: bytes.userBytes, window: .seconds(bytes.windowSeconds),
                whenRedisIsAway: values.upload.whenRedisIsAway),
            session: Settings.Limit(values.session),
            notification: Settings.Limit(values.notification))
    }
}

extension Settings.Limit {
    fileprivate init(_ values: SettingsValues<SettingsTable.RequestLimit>) {
        self.init(
            quota: values.requests, userQuota: values.userRequests, window: .seconds(values.windowSeconds),
            whenRedisIsAway: values.whenRedisIsAway)
    }
}

extension Settings.Redis {
    fileprivate init(_ values: SettingsValues<SettingsTable.Redis>) {
        guard let address = Address(values.address) else { preconditionFailure("checked by its shape") }
        self.address = address
        username = values.username
        password = values.password
        database = values.database
        usesTLS = values.tls
        certificateAuthorities = values.certificateAuthorities?.path
        keyPrefix = values.keyPrefix
        timeout = .milliseconds(values.timeoutMilliseconds)
    }
}

extension Settings.Audit {
    fileprivate init(_ values: SettingsValues<SettingsTable.Audit>) {
        if let file = values.file {
            destination = .file(file)
        } else if let stream = values.stream {
            destination = .stream(stream, maximumLength: values.streamMaximumLength)
        } else {
            destination = .standardError
        }
    }
}

extension Settings.Server {
    fileprivate init(_ values: SettingsValues<SettingsTable.Server>) {
        self.init(
            maximumBodyBytes: values.maximumBodyBytes,
            requestDeadline: .milliseconds(values.requestDeadlineMilliseconds),
            metricsFolder: values.metricsFolder,
            drain: .seconds(values.drainSeconds),
            hungAfter: .milliseconds(values.hungAfterMilliseconds),
            coreDumps: values.coreDumps)
    }
}
