/// The keys that the settings name; they never change while the process runs.
package struct SettingsProvider: AWSCredentialProvider {
    private let keys: Credentials
    package var name: ProviderName { .settings }

    package init(_ keys: Credentials) { self.keys = keys }

    package func expectedOrigin() -> String { "settings" }

    package func credentials() -> ProvidedCredentials { ProvidedCredentials(keys, origin: "settings") }
}
