import CloakroomAWS
import CloakroomWire

/// The table of all keys. Decoding, defaults, faults and the manual's table all come from it.
package enum SettingsTable {
    package static let rows: [SettingsRow] =
        aws + tokens + session + vending + entitlements + uploads + renewal + lifecycle + limits + quantities + redis
        + process

    static let aws: [SettingsRow] = [
        .init("region", .text(.region), .required, "The bucket's Region; also the one whose STS is called."),
        .init("bucket", .text(.bucket), .required, "The bucket."),
        .init(
            "aws.accessKeyID", .textOrReference, .env("AWS_ACCESS_KEY_ID"),
            "The worker's own access key; null: from where the worker runs."),
        .init("aws.secretAccessKey", .secret, .env("AWS_SECRET_ACCESS_KEY"), "Its secret."),
        .init("aws.sessionToken", .secret, .env("AWS_SESSION_TOKEN"), "Its session token, if it is temporary."),
        .init(
            "aws.credentials", .choice(["chain"] + AWSAccessReader.providers.keys.sorted()), .text("chain"),
            "The provider of the worker's credentials when no key is given: all in the SDKs' order, or one."),
        .init("aws.profile", .text(.any), .none, "A profile of the shared files; null: `AWS_PROFILE`, else `default`."),
        .init(
            "aws.useFIPS", .flag, .none,
            "Whether AWS's FIPS endpoints are used; null: as `AWS_USE_FIPS_ENDPOINT` or the profile say, else not."),
        .init(
            "aws.useDualStack", .flag, .none,
            "Whether AWS's IPv6 endpoints are used; null: as `AWS_USE_DUALSTACK_ENDPOINT` or the profile say, else not."
        ),
        .init(
            "aws.stsEndpoint", .text(.endpoint), .none,
            "Another STS; null: as `AWS_ENDPOINT_URL_STS`, `AWS_ENDPOINT_URL` or the profile say, else AWS's regional one."
        ),
        .init(
            "aws.s3Endpoint", .text(.endpoint), .none,
            "Another S3; null: as `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile say, else AWS's regional one."
        ),
        .init(
            "aws.iamEndpoint", .text(.endpoint), .none,
            "Scheme, host and port of another IAM, for `cloakroom user revoke --apply`; null: the partition's."),
        .init("aws.pathStyle", .flag, .none, "Whether the bucket stands in the path; null: where it has to."),
        .init(
            "aws.certificateAuthorities", .file, .none,
            "PEM file of whom to trust; null: `AWS_CA_BUNDLE`, else whom the system trusts."),
        .init("aws.timeoutMilliseconds", .integer(100...60_000), .integer(5000), "How long one try may take."),
        .init("aws.maximumAttempts", .integer(1...10), .integer(3), "How often one call is tried, the first included."),
    ]

    private static let vending: [SettingsRow] = [
        .init("vending.roleARN", .text(.roleARN), .required, "The role that users' sessions assume."),
        .init(
            "vending.store", .choice(ObjectStore.allCases.map(\.rawValue)), .text(ObjectStore.aws.rawValue),
            "The kind of store; the built-in scopes name only actions that it has. `cloakroom doctor` finds out which it is."
        ),
        .init("vending.lifetimeSeconds", .integer(900...43_200), .integer(3600), "How long credentials live."),
        .init(
            "vending.externalID", .text(.externalID), .none, "The external ID that the role's trust policy requires."),
        .init(
            "vending.prefixes", .texts(.folder), .texts(["photos", "thumbnails", "metadata"]),
            "Where the built-in scopes give each user a folder; empty: in the bucket itself."),
        .init(
            "vending.kmsKeyARNs", .texts(.kmsKeyARN), .none,
            "The keys of a bucket under SSE-KMS: the scopes let S3 use them for a user's objects, as the session role"
                + " must, too."),
        .init(
            "vending.scopes", .named(.scope, scope), .none,
            "Scopes besides the built-in `full`, `read` and `upload`, or in their place."),
        .init(
            "vending.scope", .text(.scope), .text("full"),
            "What credentials open in tiers that name no scope; a request may name less, never more."),
        .init("vending.defaultTier", .text(.tier), .text("free"), "The tier of a token that names none."),
        .init(
            "vending.credentialCache.enabled", .flag, .flag(true),
            "Whether a worker hands out credentials again while about half of their life or more is left."),
        .init(
            "vending.credentialCache.maximumEntries", .integer(1...1_000_000), .integer(10_000),
            "How many users' credentials a worker keeps."),
        .init(
            "vending.credentialCache.shared.enabled", .flag, .flag(false),
            "Whether all workers share what they vended, sealed, in Redis."),
        .init(
            "vending.credentialCache.shared.keys", .sealingKeys(purpose: "cloakroom credential cache"), .none,
            "Secrets of at least 32 bytes: the first seals, all open. To change it, put the new one first."),
    ]

    private static let entitlements: [SettingsRow] = [
        .init(
            "tiers", .named(.tier, tier), .none,
            "What users of each tier may do. A user's tier is the record's, else the token's, else "
                + "`vending.defaultTier`; null: all are alike."),
        .init(
            "entitlements.enabled", .flag, .flag(true),
            "Whether a user's record in Redis is read for each request, with the rate limit."),
        .init(
            "entitlements.withoutRecord", .choice(Settings.Entitlements.WithoutRecord.allCases.map(\.rawValue)),
            .text("default"),
            "Users without a record: `default` goes by the token and the default tier, `refuse` returns 403."),
    ]

    private static let tier: [SettingsRow] =
        [
            .init(
                "lifetimeSeconds", .integer(900...43_200), .none,
                "How long credentials live; null: `vending.lifetimeSeconds`."),
            .init("scope", .text(.scope), .none, "What credentials open: a scope's name; null: `vending.scope`."),
        ]
        + ["renew", "vend", "upload"].map { name in
            .init(
                "limits.\(name)", .integer(1...1_000_000), .none,
                "How many requests a device has in a window; null: `limits.\(name).requests`.")
        } + [
            .init(
                "limits.renewKeys", .integer(renewedKeys), .none,
                "How many keys a device renews in a window; null: `limits.renewKeys.keys`."),
            .init(
                "limits.uploadBytes", .integer(uploadedBytes), .none,
                "How many bytes a device announces in a window; null: `limits.uploadBytes.bytes`."),
        ]
        + ["renew", "vend", "upload"].map { name in
            .init(
                "userLimits.\(name)", .integer(1...4_000_000), .none,
                "How many requests all devices of a user have in a window; null: four times the tier's `limits.\(name)`,"
                    + " without that `limits.\(name).userRequests`.")
        } + [
            .init(
                "userLimits.renewKeys", .integer(renewedKeys), .none,
                "How many keys all devices of a user renew in a window; null: four times the tier's `limits.renewKeys`,"
                    + " without that `limits.renewKeys.userKeys`."),
            .init(
                "userLimits.uploadBytes", .integer(uploadedBytes), .none,
                "How many bytes all devices of a user announce in a window; null: four times the tier's"
                    + " `limits.uploadBytes`, without that `limits.uploadBytes.userBytes`."),
            .init(
                "storageLimitBytes", .integer(0...1_000_000_000_000_000), .none,
                "From how much on nothing can be stored; null: no limit. A record can have its own."),
            .init(
                "requiresSubscription", .flag, .flag(false),
                "Whether nothing is vended or uploaded without a subscription end in the record that lies ahead."),
        ]

    private static let scope: [SettingsRow] = [
        .init("template", .file, .required, "An IAM policy with `${user}`, `${bucket}`, `${partition}` left open.")
    ]

    private static let uploads: [SettingsRow] = [
        .init(
            "uploads.contentTypes", .texts(.mediaType),
            .texts([
                "image/jpeg", "image/png", "image/heic", "image/webp", "image/gif", "video/mp4",
                "application/octet-stream",
            ]), "What may be uploaded."),
        .init("uploads.lifetimeSeconds", .integer(1...900), .integer(900), "How long an upload URL works."),
        .init("uploads.keyPrefix", .text(.keyPrefix), .text(""), "What new keys start with; empty, or ending in `/`."),
        .init("uploads.assetBaseURL", .text(.baseURL), .none, "Where assets are read from; null: the bucket itself."),
        .init(
            "uploads.maximumBytes", .integer(1...MultipartLayout.maximumBytes), .integer(5_368_709_120),
            "The largest object; a single PUT to S3 takes 5368709120 at most."),
        .init(
            "uploads.requireContentLength", .flag, .flag(false),
            "Whether a presigned PUT must say its length, which S3 then enforces."),
        .init(
            "uploads.assumedBytes", .integer(1...5_368_709_120), .integer(16_777_216),
            "What a presigned PUT without a length counts for."),
        .init(
            "uploads.idKeys", .sealingKeys(purpose: "cloakroom upload ids"), .none,
            "Secrets of at least 32 bytes for the ids of multipart uploads: the first seals, all open; null: no such uploads."
        ),
        .init(
            "uploads.multipartLifetimeSeconds", .integer(900...604_800), .integer(86_400),
            "How long a multipart upload may take."),
    ]

    private static let renewal: [SettingsRow] = [
        .init(
            "renewal.mode", .choice(RenewalSettings.Mode.allCases.map(\.rawValue)), .text("auto"),
            "`copy` as AWS takes it, `replace` for stores that refuse that, `auto` to find out."),
        .init(
            "renewal.storageClass",
            .choice([
                "STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "REDUCED_REDUNDANCY",
                "EXPRESS_ONEZONE", "preserve",
            ]), .text("STANDARD"),
            "The storage class of a renewed object; `preserve`: as it was, and all else too, for one request more a key."
        ),
        .init(
            "renewal.encryption", .choice(["bucket", "AES256", "aws:kms", "aws:kms:dsse"]), .text("bucket"),
            "What renewed objects are encrypted with, where they are not looked at; `bucket`: as the bucket does."),
        .init("renewal.kmsKeyID", .text(.kmsKey), .none, "The key of KMS for that; null: AWS's own."),
        .init("renewal.bucketKey", .flag, .none, "Whether S3 keeps a key of KMS for the bucket; null: as the bucket."),
        .init(
            "renewal.acl",
            .choice([
                "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read",
                "bucket-owner-read", "bucket-owner-full-control",
            ]), .none, "The canned ACL of a renewed object (needs s3:PutObjectAcl); null: none, so its owner's alone."),
        .init(
            "renewal.minimumAgeSeconds", .integer(0...2_592_000), .integer(86_400),
            "What is younger counts as renewed already."),
        .init(
            "renewal.keyPrefix", .text(.keyPrefix), .text(""),
            "What stands before each key of a request; empty, or ending in `/`."),
        .init(
            "renewal.formerPrefixes", .texts(.keyPrefix), .none,
            "With `names`: where else an asset is looked for, besides `renewal.keyPrefix` and `uploads.keyPrefix`;"
                + " \"\" is the root."),
        .init(
            "renewal.keys", .choice(Settings.Renewal.Keys.allCases.map(\.rawValue)), .text("names"),
            "What keys may be: `names` of 1…255 letters, digits and ._-, beginning with a letter or digit; `any` of S3's."
        ),
        .init(
            "renewal.allowAnyOwner", .flag, .flag(false),
            "Whether `any` keys may be everybody's: each user then keeps alive what others own, deleted users included."
        ),
        .init(
            "renewal.requireOwnPrefix", .flag, .flag(false),
            "Whether users renew in their own folders of `vending.prefixes` alone; other keys are `forbidden`, unsent."),
        .init(
            "renewal.maximumInFlight", .integer(1...1024), .integer(128),
            "How many copies a worker has under way at most; fewer while S3 responds SlowDown."),
        .init(
            "renewal.partialFailure", .choice(Settings.Renewal.PartialFailure.allCases.map(\.rawValue)), .text("retry"),
            "When some keys fail for a while: `retry` returns 503 for all, `report` tells each key's result."),
        .init(
            "renewal.retentionDays", .integer(1...36_500), .integer(30),
            "The bucket's lifecycle rule, for `expiresAt` when S3 does not say."),
    ]

    private static let limits: [SettingsRow] = [
        ("renew", 10, "open"), ("vend", 60, "closed"), ("upload", 120, "open"), ("session", 60, "closed"),
        ("notification", 60, "closed"),
    ]
    .flatMap { name, requests, away in
        [
            SettingsRow(
                "limits.\(name).requests", .integer(1...1_000_000), .integer(requests),
                "How many requests a device has in a window."),
            SettingsRow(
                "limits.\(name).userRequests", .integer(1...4_000_000), .none,
                "How many requests all devices of a user have in a window; null: four times `requests`."),
            SettingsRow(
                "limits.\(name).windowSeconds", .integer(1...86_400), .integer(3600),
                "The window, from the first request on."),
            SettingsRow(
                "limits.\(name).whenRedisIsAway",
                .choice(Settings.Limit.WithoutRedis.allCases.map(\.rawValue)), .text(away),
                "`open`: serve under a limit of the worker's own; `closed`: return 503."),
        ]
    }

    private static let quantities: [SettingsRow] = [
        .init(
            "limits.renewKeys.keys", .integer(renewedKeys), .integer(1000),
            "How many keys a device renews in a window, in all its requests."),
        .init(
            "limits.renewKeys.userKeys", .integer(renewedKeys), .none,
            "How many keys all devices of a user renew in a window; null: four times `keys`."),
        .init(
            "limits.renewKeys.windowSeconds", .integer(1...86_400), .integer(3600),
            "The window, from the first request on."),
        .init(
            "limits.uploadBytes.bytes", .integer(uploadedBytes), .integer(10_737_418_240),
            "How many bytes a device announces in a window, in all its uploads; what is larger is never let in."),
        .init(
            "limits.uploadBytes.userBytes", .integer(uploadedBytes), .none,
            "How many bytes all devices of a user announce in a window; null: four times `bytes`."),
        .init(
            "limits.uploadBytes.windowSeconds", .integer(1...86_400), .integer(3600),
            "The window, from the first request on."),
    ]

    /// A full batch must pass, or those clients that know no other would never renew again.
    private static let renewedKeys = WireLimits.maximumKeysPerRequest...100_000_000
    /// Header fields hold integers of 15 digits (RFC 9651 §3.3.1).
    private static let uploadedBytes = 1...999_999_999_999_999

    private static let redis: [SettingsRow] = [
        .init("redis.address", .text(.redisAddress), .text("127.0.0.1:6379"), "`host:port`, or `unix:` and a path."),
        .init("redis.username", .text(.any), .none, "The ACL user."),
        .init("redis.password", .secret, .none, "Its password."),
        .init("redis.database", .integer(0...15), .integer(0), "The database's number."),
        .init(
            "redis.tls", .flag, .flag(false), "Whether Redis is reached through TLS 1.2 or newer, its name verified."),
        .init("redis.certificateAuthorities", .file, .none, "PEM file of whom to trust; null: whom the system trusts."),
        .init("redis.keyPrefix", .text(.any), .text("cloakroom:"), "What all our keys start with."),
        .init("redis.timeoutMilliseconds", .integer(1...5000), .integer(40), "How long one response may take."),
    ]

    private static let process: [SettingsRow] = [
        .init(
            "audit.file", .text(.path), .none,
            "Where the audit lines go; without it and `audit.stream`, to standard error."),
        .init(
            "audit.stream", .text(.any), .none,
            "A Redis stream that takes the audit lines instead, behind `redis.keyPrefix`; one more round trip a request."
        ),
        .init(
            "audit.streamMaximumLength", .integer(1000...1_000_000_000), .integer(1_000_000),
            "About how many lines the stream keeps."),
        .init(
            "log.level", .choice(Settings.Log.Level.allCases.map(\.rawValue)), .text("info"),
            "The least level that is written."),
        .init(
            "server.maximumBodyBytes", .integer(1024...16_777_216), .integer(65_536),
            "The largest request body; nginx has the same limit."),
        .init(
            "server.requestDeadlineMilliseconds", .integer(100...300_000), .integer(15_000),
            "When a request gets 503, whatever it waits for."),
        .init(
            "server.metricsFolder", .text(.path), .none,
            "Where the workers of a host share counters; null: those of one supervisor share them."
        ),
        .init(
            "server.coreDumps", .flag, .flag(false),
            "Whether a crash may leave a core file, which holds secrets, and debuggers may attach."),
        .init("server.drainSeconds", .integer(1...600), .integer(20), "How long a stopping worker finishes requests."),
        .init(
            "server.hungAfterMilliseconds", .integer(500...60_000), .integer(5000),
            "How long a worker may show no sign of life before it is replaced."),
    ]
}
