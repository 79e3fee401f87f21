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

    private static func load(
        _ tree: JSON.Object, environment: [String: String], readFile: @escaping (String) -> [UInt8]?
    ) throws(SettingsErrors) -> Settings {
        var reader = SettingsReader(environment: environment, readFile: readFile)
        let values = reader.read(SettingsTable.rows, from: tree)
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
        guard case .success(let scopes?) = check.scopes, let scope = scopes[values.text("vending.scope")] else {
            preconditionFailure("the check lets through a scope that is none")
        }
        return Settings(values, aws: access, issuers: identity.issuers, scopes: scopes, scope: scope)
    }
}

extension Settings {
    /// - Precondition: the values are without a fault.
    fileprivate init(_ values: SettingsEntries, aws: AWSAccess, issuers: [Issuer], scopes: Scopes, scope: Scope) {
        region = values.text("region")
        bucket = values.text("bucket")
        self.aws = aws
        tokens = Tokens(
            header: values.text("tokens.header"),
            leeway: values.seconds("tokens.leewaySeconds"),
            certificateAuthorities: values.file("tokens.certificateAuthorities")?.path,
            issuers: issuers)
        session = IdentitySettings(values: values).session
        vending = Vending(
            roleARN: values.text("vending.roleARN"),
            store: values.choice("vending.store"),
            lifetime: values.seconds("vending.lifetimeSeconds"),
            externalID: values.optionalText("vending.externalID"),
            scopes: scopes,
            scope: scope,
            prefixes: values.texts("vending.prefixes"),
            defaultTier: values.text("vending.defaultTier"),
            credentialCache: CredentialCache(
                enabled: values.flag("vending.credentialCache.enabled"),
                maximumEntries: values.integer("vending.credentialCache.maximumEntries"),
                sharedKeys: values.flag("vending.credentialCache.shared.enabled")
                    ? values.sealingKeys("vending.credentialCache.shared.keys") : []))
        let vending = vending
        tiers = Dictionary(uniqueKeysWithValues: values.named("tiers").map { ($0.name, Tier($0.values, vending)) })
        entitlements = Entitlements(
            enabled: values.flag("entitlements.enabled"), withoutRecord: values.choice("entitlements.withoutRecord"))
        uploads = Uploads(
            contentTypes: values.texts("uploads.contentTypes"),
            lifetime: values.seconds("uploads.lifetimeSeconds"),
            keyPrefix: values.text("uploads.keyPrefix"),
            assetBaseURL: values.optionalText("uploads.assetBaseURL"),
            maximumBytes: values.integer("uploads.maximumBytes"),
            requiresContentLength: values.flag("uploads.requireContentLength"),
            assumedBytes: values.integer("uploads.assumedBytes"),
            idKeys: values.sealingKeys("uploads.idKeys"),
            multipartLifetime: values.seconds("uploads.multipartLifetimeSeconds"))
        renewal = Renewal(
            mode: values.choice("renewal.mode"),
            storageClass: values.text("renewal.storageClass"),
            minimumAge: values.seconds("renewal.minimumAgeSeconds"),
            keyPrefix: values.text("renewal.keyPrefix"),
            otherPrefixes: Renewal.otherPrefixes(values),
            maximumInFlight: values.integer("renewal.maximumInFlight"),
            partialFailure: values.choice("renewal.partialFailure"),
            retention: .seconds(86_400) * values.integer("renewal.retentionDays"),
            encryption: RenewalSettings.Encryption(values), acl: values.optionalText("renewal.acl"),
            keys: values.choice("renewal.keys"),
            ownFolders: values.flag("renewal.requireOwnPrefix")
                ? vending.prefixes.map(Vending.folder) : nil)
        lifecycle = Lifecycle(values)
        limits = Limits(
            renew: Limit(values, "renew"), renewKeys: Limit(values, "renewKeys", "keys", of: "renew"),
            vend: Limit(values, "vend"), upload: Limit(values, "upload"),
            uploadBytes: Limit(values, "uploadBytes", "bytes", of: "upload"),
            session: Limit(values, "session"), notification: Limit(values, "notification"))
        redis = Redis(values)
        audit = Audit(values)
        log = Log(level: values.choice("log.level"))
        server = Server(
            maximumBodyBytes: values.integer("server.maximumBodyBytes"),
            requestDeadline: values.milliseconds("server.requestDeadlineMilliseconds"),
            metricsFolder: values.optionalText("server.metricsFolder"),
            drain: values.seconds("server.drainSeconds"),
            hungAfter: values.milliseconds("server.hungAfterMilliseconds"),
            coreDumps: values.flag("server.coreDumps"))
    }
}

extension Settings.Renewal {
    fileprivate static func otherPrefixes(_ values: SettingsEntries) -> [String] {
        guard values.choice("renewal.keys") == Keys.names, !values.flag("renewal.requireOwnPrefix") else { return [] }
        var prefixes = [values.text("renewal.keyPrefix")]
        let others = [values.text("uploads.keyPrefix")] + (values.optionalTexts("renewal.formerPrefixes") ?? [])
        for prefix in others where !prefixes.contains(prefix) { prefixes.append(prefix) }
        return Array(prefixes.dropFirst())
    }
}

extension RenewalSettings.Encryption {
    /// - Returns: `nil` for what the bucket does by default.
    fileprivate init?(_ values: SettingsEntries) {
        let algorithm = values.text("renewal.encryption")
        guard algorithm != "bucket" else { return nil }
        self.init(
            algorithm: algorithm, keyID: values.optionalText("renewal.kmsKeyID"),
            usesBucketKey: values.optionalFlag("renewal.bucketKey"))
    }
}

extension Settings.Tier {
    /// - Parameter vending: what it has where it names nothing of its own.
    fileprivate init(_ values: SettingsEntries, _ vending: Settings.Vending) {
        self.init(
            lifetime: values.optionalInteger("lifetimeSeconds").map { .seconds($0) } ?? vending.lifetime,
            scope: values.optionalText("scope").flatMap { vending.scopes[$0] } ?? vending.scope,
            renewals: values.optionalInteger("limits.renew"),
            vends: values.optionalInteger("limits.vend"),
            uploads: values.optionalInteger("limits.upload"),
            renewedKeys: values.optionalInteger("limits.renewKeys"),
            uploadedBytes: values.optionalInteger("limits.uploadBytes"),
            userRenewals: values.optionalInteger("userLimits.renew"),
            userVends: values.optionalInteger("userLimits.vend"),
            userUploads: values.optionalInteger("userLimits.upload"),
            userRenewedKeys: values.optionalInteger("userLimits.renewKeys"),
            userUploadedBytes: values.optionalInteger("userLimits.uploadBytes"),
            storageLimit: values.optionalInteger("storageLimitBytes"),
            requiresSubscription: values.flag("requiresSubscription"))
    }
}

extension Settings.Limit {
    /// - Parameter kind: of request; what it adds up to is limited as long as requests are, Redis or not.
    fileprivate init(_ values: SettingsEntries, _ name: String, _ unit: String = "requests", of kind: String? = nil) {
        let unitOfUser = "user\(unit.prefix(1).uppercased())\(unit.dropFirst())"
        self.init(
            quota: values.integer("limits.\(name).\(unit)"),
            userQuota: values.optionalInteger("limits.\(name).\(unitOfUser)"),
            window: values.seconds("limits.\(name).windowSeconds"),
            whenRedisIsAway: values.choice("limits.\(kind ?? name).whenRedisIsAway"))
    }
}

extension Settings.Redis {
    fileprivate init(_ values: SettingsEntries) {
        guard let address = Address(values.text("redis.address")) else { preconditionFailure("checked by its shape") }
        self.address = address
        username = values.optionalText("redis.username")
        password = values.secret("redis.password")
        database = values.integer("redis.database")
        usesTLS = values.flag("redis.tls")
        certificateAuthorities = values.file("redis.certificateAuthorities")?.path
        keyPrefix = values.text("redis.keyPrefix")
        timeout = values.milliseconds("redis.timeoutMilliseconds")
    }
}

extension Settings.Audit {
    fileprivate init(_ values: SettingsEntries) {
        if let file = values.optionalText("audit.file") {
            destination = .file(file)
        } else if let stream = values.optionalText("audit.stream") {
            destination = .stream(stream, maximumLength: values.integer("audit.streamMaximumLength"))
        } else {
            destination = .standardError
        }
    }
}
