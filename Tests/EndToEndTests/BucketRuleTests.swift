import Foundation
import Testing

extension EndToEnd {
    /// `cloakroom cors` on stores that keep and obey rules for web pages.
    @Suite struct BucketRules {
        private static let page = "https://app.example"

        /// - Parameters:
        ///   - settings: writes a settings file for the store, changed so.
        ///   - ask: a signed request to the store, behind the bucket's name.
        private static func prove(
            at url: String, environment: [String: String], ask: (String, String, String?) throws -> TestResponse,
            settings: ((inout TestSettings) -> Void) throws -> String
        ) throws {
            func run(_ words: String..., origins: [String] = [page]) throws -> Command {
                let file = try settings { $0["web.origins"] = origins }
                return try Command(["cors"] + words + [file], environment: environment, within: .seconds(30))
            }
            func preflight(_ origin: String, _ method: String = "PUT") throws -> TestResponse {
                try Curl.run(
                    "OPTIONS", "\(url)/cors/a.jpg",
                    fields: [
                        "Origin": origin, "Access-Control-Request-Method": method,
                        "Access-Control-Request-Headers": "authorization,content-type,x-amz-date",
                    ])
            }
            defer { _ = try? ask("DELETE", "?cors=", nil) }
            #expect(try run("show").text.contains("No rules"))
            let bare = try run("verify", "--json")
            #expect(bare.status == 1 && bare.text.contains(#""code":"not_permitted""#), "\(bare.text)")
            let other =
                "<CORSRule><ID>other</ID><AllowedHeader>x-other</AllowedHeader><AllowedMethod>GET</AllowedMethod>"
                + "<AllowedOrigin>https://*.example</AllowedOrigin><MaxAgeSeconds>9</MaxAgeSeconds></CORSRule>"
            let put = try ask("PUT", "?cors=", "<CORSConfiguration>\(other)</CORSConfiguration>")
            #expect(put.status == 200, "\(put.told)")
            let shown = try run("apply", "--dry-run")
            #expect(shown.status == 0, "\(shown.text)")
            #expect(
                shown.text.contains("+ \"cloakroom-browsers\": pages of https://app.example may send"), "\(shown.text)")
            #expect(shown.text.contains("pages of https://*.example may send GET"), "\(shown.text)")
            // There is no terminal to ask on.
            let unasked = try run("apply")
            #expect(unasked.status == 1 && unasked.text.contains("nothing is changed"), "\(unasked.text)")
            #expect(try run("verify").status == 1)
            let applied = try run("apply", "--yes")
            #expect(applied.status == 0 && applied.text.hasSuffix("applied\n"), "\(applied.text)")
            let verified = try run("verify")
            #expect(verified.status == 0 && verified.text.hasSuffix("good; pages of web.origins can upload and read\n"))
            #expect(try run("apply", "--yes").text.hasSuffix("the rule is there already\n"))
            let rules = try run("show", "--json")
            #expect(rules.text.contains("\"https://*.example\"") && rules.text.contains("\"https://app.example\""))
            // The store obeys it.
            for method in ["GET", "HEAD", "PUT", "POST", "DELETE"] {
                let permitted = try preflight(page, method)
                #expect(permitted.status == 200, "\(method): \(permitted.told)")
                #expect(permitted.fields["access-control-allow-origin"] == page, "\(permitted.fields)")
                #expect(permitted.fields["access-control-allow-methods"]?.contains(method) == true)
                let fields = permitted.fields["access-control-allow-headers"]?.lowercased() ?? ""
                #expect(fields == "*" || fields.contains("x-amz-date"), "\(fields)")
            }
            let foreign = try preflight("https://evil.test")
            #expect(foreign.status == 403 || foreign.fields["access-control-allow-origin"] == nil, "\(foreign.fields)")
            let warned = try run("verify", origins: ["https://new.example"])
            #expect(
                warned.text.contains("warning: the rule cloakroom-browsers is for pages of \(page) too"),
                "\(warned.text)")
            let moved = try run("apply", "--yes", origins: ["https://new.example"])
            #expect(moved.status == 0 && moved.text.contains("- ") && moved.text.contains("+ "), "\(moved.text)")
            // Without origins the rule goes, and the other stays.
            let removed = try run("apply", "--yes", origins: [])
            #expect(removed.status == 0, "\(removed.text)")
            let left = try ask("GET", "?cors=", nil).text
            #expect(left.contains("https://*.example") && !left.contains("https://new.example"), "\(left)")
            #expect(try ask("DELETE", "?cors=", nil).status == 204)
            #expect(try run("apply", "--yes").status == 0)
            #expect(try run("apply", "--yes", origins: []).text.hasSuffix("applied\n"))
            #expect(try ask("GET", "?cors=", nil).status == 404)
        }

        @Test func `the rule is put, obeyed and removed by SeaweedFS`() throws {
            let store = try EndToEnd.s3()
            let folder = try RunFolder.make("cors-seaweedfs")
            try Self.prove(
                at: "\(store.url)/\(SeaweedFS.bucket)", environment: TestSettings.environment,
                ask: { try store.ask($0, $1, body: $2) },
                settings: { change in
                    var settings = TestSettings(folder: folder, upstream: store.url)
                    change(&settings)
                    try settings.write(to: "\(folder)/settings.json5")
                    return "\(folder)/settings.json5"
                })
        }

        @Test func `the rule is put, obeyed and removed by Ceph`() throws {
            let ceph = try EndToEnd.ceph()
            let folder = try RunFolder.make("cors-ceph")
            try Self.prove(
                at: "\(ceph.url)/\(ceph.bucket)", environment: ceph.environment,
                ask: { try ceph.ask($0, $1, body: $2) }, settings: { try ceph.settings(folder, $0) })
        }

        @Test func `the doctor compares settings, nginx and bucket`() throws {
            let store = try EndToEnd.s3()
            var options = Stack.Options(nginx: true, s3: true) { $0["web.origins"] = [Self.page] }
            options.nginxFiles = { stack in
                ["cors.conf": try Command(["nginx-cors", stack.settingsFile]).text]
            }
            defer { _ = try? store.ask("DELETE", "?cors=") }
            try Stack.run("doctor-browsers", options) { stack in
                let url = "http://127.0.0.1:\(try #require(stack.nginx).port)"
                func visit() throws -> Command {
                    try Command(
                        ["doctor", "--settings", stack.settingsFile, "--url", url, "--only", "browsers"],
                        within: .seconds(30))
                }
                let before = try visit()
                #expect(before.status == 1, "\(before.text)")
                #expect(before.text.contains("nginx lets pages of \(Self.page) call"), "\(before.text)")
                #expect(
                    before.text.contains("error   the bucket: pages of \(Self.page) may not send"), "\(before.text)")
                #expect(try Command(["cors", "apply", "--yes", stack.settingsFile]).status == 0)
                let after = try visit()
                #expect(after.status == 0, "\(after.text)")
                try stack.writeSettings { $0["web.origins"] = [Self.page, "https://new.example"] }
                let changed = try visit()
                #expect(
                    changed.text.contains("nginx does not let pages of https://new.example call"), "\(changed.text)")
                #expect(
                    changed.text.contains("the bucket: pages of https://new.example may not send"), "\(changed.text)")
            }
        }
    }
}
