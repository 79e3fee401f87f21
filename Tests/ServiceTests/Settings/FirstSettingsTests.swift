import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct FirstSettingsTests {
    private func load(_ first: FirstSettings) throws -> Settings {
        var files = ["/etc/cloakroom/cloakroom.json5": Array(first.text.utf8)]
        for secret in first.secrets() {
            files["/etc/cloakroom/\(secret.path)"] = Array((secret.secret.reveal() + "\n").utf8)
        }
        let all = files
        return try Settings.load(file: "/etc/cloakroom/cloakroom.json5", environment: [:]) { all[$0] }
    }

    @Test(arguments: FirstSettings.Store.allCases, ["https://auth.example.org", nil])
    func `are good as they are written`(store: FirstSettings.Store, issuer: String?) throws {
        var first = FirstSettings(store)
        first.issuer = issuer
        let settings = try load(first)
        #expect(settings.bucket == "my-bucket" && settings.uploads.keyPrefix == "assets/")
        #expect(settings.tokens.issuers.map(\.name) == [issuer ?? "https://auth.example.com"])
        #expect(settings.uploads.idKeys.count == 1 && settings.lifecycle.prefixes == ["assets/"])
        #expect((settings.aws.keys == nil) == (store == .aws))
        #expect(settings.vending.store.rawValue == store.rawValue)
    }

    @Test func `differ from the defaults in nothing that they do not say`() throws {
        let first = FirstSettings(.aws)
        let settings = try load(first)
        #expect(settings.renewal.retention == .seconds(30 * 86_400) && settings.limits.vend.quota == 60)
        #expect(settings.vending.prefixes == ["photos", "thumbnails", "metadata", "catalogs"])
        #expect(settings.renewal.keyPrefix == "assets/")
        #expect(settings.lifecycle.prefixes == ["assets/"] && first.text.contains(#"    prefixes: ["assets/"],"#))
    }

    /// The policies of the worker and of a CDN go by these places.
    @Test func `confine the worker to assets, and are nothing to warn of`() throws {
        for chats in [false, true] {
            var first = FirstSettings(.aws)
            first.chats = chats
            let settings = try load(first)
            let review = SettingsReview(settings)
            #expect(review.errors.isEmpty && review.warnings.isEmpty, "\(review.lines)")
            #expect(settings.policyPrefixes.map(\.prefix) == ["assets/"])
        }
    }

    @Test func `name the audit's file where one is given`() throws {
        #expect(try load(FirstSettings(.aws)).audit.destination == .standardError)
        var first = FirstSettings(.aws)
        first.auditFile = "/var/log/cloakroom/audit.log"
        #expect(try load(first).audit.destination == .file("/var/log/cloakroom/audit.log"))
    }

    @Test func `have every key of the table, each once`() {
        let lines = FirstSettings(.ceph).text.split(separator: "\n").map { $0.drop { "/ ".contains($0) } }
        for row in SettingsTable.rows {
            let name = row.path.split(separator: ".").last.map { "\($0): " } ?? ""
            #expect(lines.contains { $0.hasPrefix(name) }, "\(row.path)")
        }
        let names = Set(SettingsTable.rows.compactMap { $0.path.split(separator: ".").last })
        let count = lines.count { line in
            line.firstIndex(of: ":").map { names.contains(line[..<$0]) && [",", "["].contains(line.suffix(1)) } ?? false
        }
        #expect(count == SettingsTable.rows.count)
    }

    @Test func `texts that would end a string do not`() throws {
        var first = FirstSettings(.seaweedfs)
        first.issuer = #"https://a.example/"},{"#
        #expect(throws: SettingsErrors.self) { try load(first) }
    }

    @Test func `secrets are of 256 bits, another at each call`() {
        let first = FirstSettings(.ceph)
        let secrets = (first.secrets() + first.secrets()).map { $0.secret.reveal() }
        #expect(Set(secrets).count == 6 && secrets.allSatisfy { $0.utf8.count == 64 })
    }
}
