/// The values of labels that the settings name.
package struct MetricNames: Sendable {
    /// Those over which users are spread.
    package var roles = [SessionRole.mainName]
    /// Those whose keys are fetched.
    package var issuers: [String] = []

    package init() {}

    package init(_ settings: Settings) {
        roles = settings.vending.roles.active.map(\.name)
        issuers = Set(settings.tokens.issuers.filter(\.fetchesKeys).map(\.name)).sorted()
    }
}
