/// What the settings of a worker have whose users tier photos.
enum TierSettings {
    static let prefixes = ["photos", "thumbnails", "metadata", "catalogs"]

    /// Assets expire, users' folders do not.
    static func change(_ settings: inout TestSettings) {
        settings["vending.prefixes"] = prefixes
        settings["lifecycle"] = ["prefixes": ["assets/"]] as [String: Any]
        settings["uploads.keyPrefix"] = "assets/"
    }
}
