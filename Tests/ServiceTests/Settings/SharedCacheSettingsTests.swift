import Testing

@testable import CloakroomServer

struct SharedCacheSettingsTests {
    private static let secret = "x0Jr7vKq1PzM4tYb9LcW6hNd3GfSa8Ue"

    private func faults(_ cache: String, _ more: String = "") -> [String] {
        do throws(SettingsErrors) {
            _ = try settings(
                smallest(more, vending: "credentialCache: {\(cache)}"),
                environment: ["SEALING": Self.secret, "WEAK": String(repeating: "a", count: 40)])
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }

    @Test func `has as many keys as are given, when it is enabled`() throws {
        for (text, count) in [
            ("shared: {enabled: true, keys: [{env: \"SEALING\"}]}", 1),
            ("shared: {enabled: true, keys: [{env: \"SEALING\"}, {env: \"SIGNING\"}]}", 2),
            ("shared: {keys: [{env: \"SEALING\"}]}", 0), ("", 0),
        ] {
            let settings = try settings(
                smallest(vending: "credentialCache: {\(text)}"), environment: ["SEALING": Self.secret])
            #expect(settings.vending.credentialCache.sharedKeys.count == count)
        }
    }

    @Test(arguments: [
        ("shared: {enabled: true}", "shared.keys: is missing"), ("shared: {enabled: true, keys: []}", "has 0 keys"),
        ("shared: {enabled: true, keys: {env: \"SEALING\"}}", "shared.keys: is an object"),
        ("shared: {enabled: true, keys: [\"plain\"]}", "shared.keys[0]: is a secret written in the file"),
        ("shared: {enabled: true, keys: [{env: \"SEALING\"}, {env: \"NOWHERE\"}]}", "shared.keys[1]: names NOWHERE"),
        ("shared: {enabled: true, keys: [{env: \"WEAK\"}]}", "shared.keys[0]: "),
        ("enabled: false, shared: {enabled: true, keys: [{env: \"SEALING\"}]}", "shared.enabled: is true without"),
    ])
    func `finds what cannot be`(cache: String, fault: String) {
        let faults = faults(cache)
        #expect(faults.count == 1)
        #expect(faults.allSatisfy { $0.hasPrefix("vending.credentialCache.") && $0.contains(fault) })
    }

    @Test func `has one place for the audit`() {
        #expect(
            faults("", "audit: {file: \"a\", stream: \"b\"},")
                == ["audit.stream: stands beside audit.file; keep one of the two"])
    }
}
