extension Settings.Uploads {
    /// What is doubtful about a base URL with a path: keys begin with ``keyPrefix`` already. `nil` without a path.
    var assetURLWarning: SettingsReview.Remark? {
        guard let base = assetBaseURL, let path = WebOrigin(base)?.rest, !path.isEmpty else { return nil }
        let repeats = !keyPrefix.isEmpty && "\(path)/".hasSuffix("/" + keyPrefix)
        return SettingsReview.Remark(
            text: "uploads.assetBaseURL: its path \"\(path)\" "
                + (repeats
                    ? "repeats uploads.keyPrefix" : "is no part of any key (uploads.keyPrefix is \"\(keyPrefix)\")")
                + ": clients get \(base)/\(keyPrefix)NAME.bin",
            advice: "nothing, if the CDN takes the path off; else leave it out")
    }
}
