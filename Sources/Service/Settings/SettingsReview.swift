/// What settings without a fault mean that an operator should know before `serve` runs with them.
package struct SettingsReview: Sendable {
    package struct Remark: Sendable, Equatable {
        package let text: String
        /// What to do about it.
        package let advice: String
    }

    package let errors: [Remark]
    package let warnings: [Remark]
    /// What the policies of the worker and of a CDN have to allow.
    package let policies: String

    package init(_ settings: Settings) {
        let terms = LifecycleTerms(settings)
        errors = [LifecycleConflict(terms)].compactMap(\.self).map { Remark(text: $0.text, advice: $0.advice) }
        warnings = settings.assetPlaces.filter { terms.names.contains($0.prefix) }.map { place in
            Remark(
                text: "what is renewed \(Self.place(place)) never expires: none of lifecycle.prefixes is for it",
                advice: "nothing, if no assets are there; else see: cloakroom lifecycle plan-prefixes --help")
        }
        let bucket = "arn:\(settings.vending.partition):s3:::\(settings.bucket)/"
        policies =
            settings.renewal.ownFolders != nil
            ? "Policies allow: \(bucket)\(settings.renewal.keyPrefix)* (users renew in their own folders)"
            : "Policies allow: "
                + settings.policyPlaces.map { "\(bucket)\($0.prefix)* (\($0.setting))" }
                .joined(separator: ", ") + ", and deny users' folders"
    }

    package var lines: [String] {
        errors.map { "error: \($0.text)\n    \($0.advice)" } + warnings.map { "warning: \($0.text)\n    \($0.advice)" }
    }

    private static func place(_ place: AssetPlace) -> String {
        place.prefix.isEmpty
            ? "in the bucket itself (\(place.setting) is \"\")" : "under \(place.prefix) (\(place.setting))"
    }
}
