import CloakroomAWS

/// The table of all keys, each with the type of its value. Decoding, defaults, faults and the manual's table all come
/// from it; readers find a key by its name here: `values.redis.database`.
package struct SettingsTable: SettingsGroup {
    static let keys = Self()
    package static let rows = keys.rows

    let region = SettingsKey(
        required: "region", .text(.region), "The bucket's Region; also the one whose STS is called.")
    let bucket = SettingsKey(required: "bucket", .text(.bucket), "The bucket.")
    let aws = AWS()
    let tokens = Tokens()
    let session = Session()
    let vending = Vending()
    let tiers = SettingsKey(
        optional: "tiers", .named(.tier, Tier()),
        "What users of each tier may do. A user's tier is the record's, else the token's, else "
            + "`vending.defaultTier`; null: all are alike.")
    let entitlements = Entitlements()
    let uploads = Uploads()
    let renewal = Renewal()
    let lifecycle = Lifecycle()
    let limits = Limits()
    let redis = Redis()
    let audit = Audit()
    let log = Log()
    let server = Server()
}

extension SettingsTable {
    struct AWS: SettingsGroup {
        let accessKeyID = SettingsKey(
            optional: "aws.accessKeyID", .textOrReference, environment: "AWS_ACCESS_KEY_ID",
            "The worker's own access key; null: from where the worker runs.")
        let secretAccessKey = SettingsKey(
            optional: "aws.secretAccessKey", .secret, environment: "AWS_SECRET_ACCESS_KEY", "Its secret.")
        let sessionToken = SettingsKey(
            optional: "aws.sessionToken", .secret, environment: "AWS_SESSION_TOKEN",
            "Its session token, if it is temporary.")
        let credentials = SettingsKey(
            "aws.credentials", .choice(["chain"] + AWSAccessReader.providers.keys.sorted()), default: "chain",
            "The provider of the worker's credentials when no key is given: all in the SDKs' order, or one.")
        let profile = SettingsKey(
            optional: "aws.profile", .text(.any), "A profile of the shared files; null: `AWS_PROFILE`, else `default`.")
        let useFIPS = SettingsKey(
            optional: "aws.useFIPS", .flag,
            "Whether AWS's FIPS endpoints are used; null: as `AWS_USE_FIPS_ENDPOINT` or the profile say, else not.")
        let useDualStack = SettingsKey(
            optional: "aws.useDualStack", .flag,
            "Whether AWS's IPv6 endpoints are used; null: as `AWS_USE_DUALSTACK_ENDPOINT` or the profile say, else not."
        )
        let stsEndpoint = SettingsKey(
            optional: "aws.stsEndpoint", .text(.endpoint),
            "Another STS; null: as `AWS_ENDPOINT_URL_STS`, `AWS_ENDPOINT_URL` or the profile say, else AWS's regional one."
        )
        let s3Endpoint = SettingsKey(
            optional: "aws.s3Endpoint", .text(.endpoint),
            "Another S3; null: as `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile say, else AWS's regional one."
        )
        let iamEndpoint = SettingsKey(
            optional: "aws.iamEndpoint", .text(.endpoint),
            "Scheme, host and port of another IAM, for `cloakroom user revoke --apply`; null: the partition's.")
        let pathStyle = SettingsKey(
            optional: "aws.pathStyle", .flag, "Whether the bucket stands in the path; null: where it has to.")
        let certificateAuthorities = SettingsKey(
            optional: "aws.certificateAuthorities", .file,
            "PEM file of whom to trust; null: `AWS_CA_BUNDLE`, else whom the system trusts.")
        let timeoutMilliseconds = SettingsKey(
            "aws.timeoutMilliseconds", .integer(100...60_000), default: 5000, "How long one try may take.")
        let maximumAttempts = SettingsKey(
            "aws.maximumAttempts", .integer(1...10), default: 3, "How often one call is tried, the first included.")
    }

    struct Vending: SettingsGroup {
        let roleARN = SettingsKey(required: "vending.roleARN", .text(.roleARN), "The role that users' sessions assume.")
        let store = SettingsKey(
            "vending.store", .choice(of: ObjectStore.self), default: .aws,
            "The kind of store; the built-in scopes name only actions that it has. `cloakroom doctor` finds out which it is."
        )
        let lifetimeSeconds = SettingsKey(
            "vending.lifetimeSeconds", .integer(900...43_200), default: 3600, "How long credentials live.")
        let externalID = SettingsKey(
            optional: "vending.externalID", .text(.externalID), "The external ID that the role's trust policy requires."
        )
        let prefixes = SettingsKey(
            "vending.prefixes", .texts(.folder), default: ["photos", "thumbnails", "metadata"],
            "Where the built-in scopes give each user a folder; empty: in the bucket itself.")
        let kmsKeyARNs = SettingsKey(
            optional: "vending.kmsKeyARNs", .texts(.kmsKeyARN),
            "The keys of a bucket under SSE-KMS: the scopes let S3 use them for a user's objects, as the session role"
                + " must, too.")
        let scopes = SettingsKey(
            optional: "vending.scopes", .named(.scope, Scope()),
            "Scopes besides the built-in `full`, `read` and `upload`, or in their place.")
        let scope = SettingsKey(
            "vending.scope", .text(.scope), default: "full",
            "What credentials open in tiers that name no scope; a request may name less, never more.")
        let defaultTier = SettingsKey(
            "vending.defaultTier", .text(.tier), default: "free", "The tier of a token that names none.")
        let credentialCache = CredentialCache()
    }

    /// One of `vending.scopes`.
    struct Scope: SettingsGroup {
        let template = SettingsKey(
            required: "template", .file, "An IAM policy with `${user}`, `${bucket}`, `${partition}` left open.")
    }

    struct CredentialCache: SettingsGroup {
        let enabled = SettingsKey(
            "vending.credentialCache.enabled", .flag, default: true,
            "Whether a worker hands out credentials again while about half of their life or more is left.")
        let maximumEntries = SettingsKey(
            "vending.credentialCache.maximumEntries", .integer(1...1_000_000), default: 10_000,
            "How many users' credentials a worker keeps.")
        let shared = SharedCredentialCache()
    }

    struct SharedCredentialCache: SettingsGroup {
        let enabled = SettingsKey(
            "vending.credentialCache.shared.enabled", .flag, default: false,
            "Whether all workers share what they vended, sealed, in Redis.")
        let keys = SettingsKey(
            optional: "vending.credentialCache.shared.keys", .sealingKeys(purpose: "cloakroom credential cache"),
            "Secrets of at least 32 bytes: the first seals, all open. To change it, put the new one first.")
    }

    struct Entitlements: SettingsGroup {
        let enabled = SettingsKey(
            "entitlements.enabled", .flag, default: true,
            "Whether a user's record in Redis is read for each request, with the rate limit.")
        let withoutRecord = SettingsKey(
            "entitlements.withoutRecord", .choice(of: Settings.Entitlements.WithoutRecord.self), default: .default,
            "Users without a record: `default` goes by the token and the default tier, `refuse` returns 403.")
    }
}

extension SettingsTable {
    struct Uploads: SettingsGroup {
        let contentTypes = SettingsKey(
            "uploads.contentTypes", .texts(.mediaType),
            default: [
                "image/jpeg", "image/png", "image/heic", "image/webp", "image/gif", "video/mp4",
                "application/octet-stream",
            ], "What may be uploaded.")
        let lifetimeSeconds = SettingsKey(
            "uploads.lifetimeSeconds", .integer(1...900), default: 900, "How long an upload URL works.")
        let keyPrefix = SettingsKey(
            "uploads.keyPrefix", .text(.keyPrefix), default: "", "What new keys start with; empty, or ending in `/`.")
        let assetBaseURL = SettingsKey(
            optional: "uploads.assetBaseURL", .text(.baseURL), "Where assets are read from; null: the bucket itself.")
        let maximumBytes = SettingsKey(
            "uploads.maximumBytes", .integer(1...MultipartLayout.maximumBytes), default: 5_368_709_120,
            "The largest object; a single PUT to S3 takes 5368709120 at most.")
        let requireContentLength = SettingsKey(
            "uploads.requireContentLength", .flag, default: false,
            "Whether a presigned PUT must say its length, which S3 then enforces.")
        let assumedBytes = SettingsKey(
            "uploads.assumedBytes", .integer(1...5_368_709_120), default: 16_777_216,
            "What a presigned PUT without a length counts for.")
        let idKeys = SettingsKey(
            optional: "uploads.idKeys", .sealingKeys(purpose: "cloakroom upload ids"),
            "Secrets of at least 32 bytes for the ids of multipart uploads: the first seals, all open; null: no such uploads."
        )
        let multipartLifetimeSeconds = SettingsKey(
            "uploads.multipartLifetimeSeconds", .integer(900...604_800), default: 86_400,
            "How long a multipart upload may take.")
    }

    struct Renewal: SettingsGroup {
        let mode = SettingsKey(
            "renewal.mode", .choice(of: RenewalSettings.Mode.self), default: .auto,
            "`copy` as AWS takes it, `replace` for stores that refuse that, `auto` to find out.")
        let storageClass = SettingsKey(
            "renewal.storageClass",
            .choice([
                "STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "REDUCED_REDUNDANCY",
                "EXPRESS_ONEZONE", "preserve",
            ]), default: "STANDARD",
            "The storage class of a renewed object; `preserve`: as it was, and all else too, for one request more a key."
        )
        let encryption = SettingsKey(
            "renewal.encryption", .choice(["bucket", "AES256", "aws:kms", "aws:kms:dsse"]), default: "bucket",
            "What renewed objects are encrypted with, where they are not looked at; `bucket`: as the bucket does.")
        let kmsKeyID = SettingsKey(
            optional: "renewal.kmsKeyID", .text(.kmsKey), "The key of KMS for that; null: AWS's own.")
        let bucketKey = SettingsKey(
            optional: "renewal.bucketKey", .flag, "Whether S3 keeps a key of KMS for the bucket; null: as the bucket.")
        let acl = SettingsKey(
            optional: "renewal.acl",
            .choice([
                "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read",
                "bucket-owner-read", "bucket-owner-full-control",
            ]), "The canned ACL of a renewed object (needs s3:PutObjectAcl); null: none, so its owner's alone.")
        let minimumAgeSeconds = SettingsKey(
            "renewal.minimumAgeSeconds", .integer(0...2_592_000), default: 86_400,
            "What is younger counts as renewed already.")
        let keyPrefix = SettingsKey(
            "renewal.keyPrefix", .text(.keyPrefix), default: "",
            "What stands before each key of a request; empty, or ending in `/`.")
        let formerPrefixes = SettingsKey(
            optional: "renewal.formerPrefixes", .texts(.keyPrefix),
            "With `names`: where else an asset is looked for, besides `renewal.keyPrefix` and `uploads.keyPrefix`;"
                + " \"\" is the root.")
        let keys = SettingsKey(
            "renewal.keys", .choice(of: Settings.Renewal.Keys.self), default: .names,
            "What keys may be: `names` of 1…255 letters, digits and ._-, beginning with a letter or digit; `any` of S3's."
        )
        let allowAnyOwner = SettingsKey(
            "renewal.allowAnyOwner", .flag, default: false,
            "Whether `any` keys may be everybody's: each user then keeps alive what others own, deleted users included."
        )
        let requireOwnPrefix = SettingsKey(
            "renewal.requireOwnPrefix", .flag, default: false,
            "Whether users renew in their own folders of `vending.prefixes` alone; other keys are `forbidden`, unsent.")
        let maximumInFlight = SettingsKey(
            "renewal.maximumInFlight", .integer(1...1024), default: 128,
            "How many copies a worker has under way at most; fewer while S3 responds SlowDown.")
        let partialFailure = SettingsKey(
            "renewal.partialFailure", .choice(of: Settings.Renewal.PartialFailure.self), default: .retry,
            "When some keys fail for a while: `retry` returns 503 for all, `report` tells each key's result.")
        let retentionDays = SettingsKey(
            "renewal.retentionDays", .integer(1...36_500), default: 30,
            "The bucket's lifecycle rule, for `expiresAt` when S3 does not say.")
    }
}

extension SettingsTable {
    struct Redis: SettingsGroup {
        let address = SettingsKey(
            "redis.address", .text(.redisAddress), default: "127.0.0.1:6379", "`host:port`, or `unix:` and a path.")
        let username = SettingsKey(optional: "redis.username", .text(.any), "The ACL user.")
        let password = SettingsKey(optional: "redis.password", .secret, "Its password.")
        let database = SettingsKey("redis.database", .integer(0...15), default: 0, "The database's number.")
        let tls = SettingsKey(
            "redis.tls", .flag, default: false, "Whether Redis is reached through TLS 1.2 or newer, its name verified.")
        let certificateAuthorities = SettingsKey(
            optional: "redis.certificateAuthorities", .file, "PEM file of whom to trust; null: whom the system trusts.")
        let keyPrefix = SettingsKey(
            "redis.keyPrefix", .text(.any), default: "cloakroom:", "What all our keys start with.")
        let timeoutMilliseconds = SettingsKey(
            "redis.timeoutMilliseconds", .integer(1...5000), default: 40, "How long one response may take.")
    }

    struct Audit: SettingsGroup {
        let file = SettingsKey(
            optional: "audit.file", .text(.path),
            "Where the audit lines go; without it and `audit.stream`, to standard error.")
        let stream = SettingsKey(
            optional: "audit.stream", .text(.any),
            "A Redis stream that takes the audit lines instead, behind `redis.keyPrefix`; one more round trip a request."
        )
        let streamMaximumLength = SettingsKey(
            "audit.streamMaximumLength", .integer(1000...1_000_000_000), default: 1_000_000,
            "About how many lines the stream keeps.")
    }

    struct Log: SettingsGroup {
        let level = SettingsKey(
            "log.level", .choice(of: Settings.Log.Level.self), default: .info, "The least level that is written.")
    }

    struct Server: SettingsGroup {
        let maximumBodyBytes = SettingsKey(
            "server.maximumBodyBytes", .integer(1024...16_777_216), default: 65_536,
            "The largest request body; nginx has the same limit.")
        let requestDeadlineMilliseconds = SettingsKey(
            "server.requestDeadlineMilliseconds", .integer(100...300_000), default: 15_000,
            "When a request gets 503, whatever it waits for.")
        let metricsFolder = SettingsKey(
            optional: "server.metricsFolder", .text(.path),
            "Where the workers of a host share counters; null: those of one supervisor share them.")
        let coreDumps = SettingsKey(
            "server.coreDumps", .flag, default: false,
            "Whether a crash may leave a core file, which holds secrets, and debuggers may attach.")
        let drainSeconds = SettingsKey(
            "server.drainSeconds", .integer(1...600), default: 20, "How long a stopping worker finishes requests.")
        let hungAfterMilliseconds = SettingsKey(
            "server.hungAfterMilliseconds", .integer(500...60_000), default: 5000,
            "How long a worker may show no sign of life before it is replaced.")
    }
}
