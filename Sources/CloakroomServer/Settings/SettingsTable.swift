/// The table of all keys, each with the type of its value. Decoding, defaults, faults and the manual's table all come
/// from it; readers find a key by its name here: `values.redis.database`.
///
/// Each group stands beside what is made of it, such as ``Redis`` beside ``Settings/Redis``.
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
    let release = Release()
    let lifecycle = Lifecycle()
    let web = Web()
    let limits = Limits()
    let redis = Redis()
    let audit = Audit()
    let events = Events()
    let tracing = Tracing()
    let log = Log()
    let server = Server()
}
