import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct DoctorReportTests {
    private static let report = DoctorReport([
        CheckName.redis.ok("Redis 7.0.15"), CheckName.renewal.skipped("nothing may be written (--read-only)"),
        CheckName.nginx.warning(
            "responses say \u{1B}[31mnginx/1.22.1", why: "scanners look", advice: "set server_tokens off"),
    ])

    @Test func `is a table for people`() {
        #expect(
            Self.report.table == """
                redis     ok      Redis 7.0.15
                touch     skipped nothing may be written (--read-only)
                front     warning responses say [31mnginx/1.22.1
                                    why: scanners look
                                    do:  set server_tokens off

                1 warning, 1 skipped, 1 ok
                """)
    }

    @Test func `breaks long lines between words`() {
        let words = Array(repeating: "word", count: 30).joined(separator: " ")
        let lines = DoctorReport([CheckName.endpoints.ok(words)]).table.split(separator: "\n")
        #expect(lines[0].hasPrefix("endpoints ok      word") && lines[0].count == 18 + 99)
        #expect(lines[1].hasPrefix(String(repeating: " ", count: 18) + "word"))
    }

    @Test func `is JSON for programs`() {
        #expect(
            Self.report.json == """
                {"findings":[{"check":"redis","level":"ok","found":"Redis 7.0.15"},\
                {"check":"touch","level":"skipped","found":"nothing may be written (--read-only)"},\
                {"check":"front","level":"warning","found":"responses say \\u001b[31mnginx/1.22.1",\
                "why":"scanners look","advice":"set server_tokens off"}],"ok":1,"skipped":1,"warning":1,"error":0}
                """)
    }

    @Test func `warnings fail only when they are to`() {
        #expect(Self.report.isFine(strict: false))
        #expect(!Self.report.isFine(strict: true))
        #expect(!DoctorReport([CheckName.keys.error("a", why: "b", advice: "c")]).isFine(strict: false))
    }

    @Test func `settings with faults are findings`() {
        do throws(SettingsErrors) {
            _ = try settings("{bucket: \"photos\"}")
            Issue.record("these settings lack nearly all")
        } catch {
            let lines = SettingsFindings.faults(error).lines
            #expect(lines.contains("error: region is missing"))
            #expect(lines.allSatisfy { $0.hasPrefix("error: ") })
        }
    }

    @Test(arguments: [
        (
            "vending: {roleARN: \"arn:aws:iam::000000000000:role/r\", lifetimeSeconds: 43200}",
            "credentials live up to 12 hours"
        ),
        ("log: {level: \"debug\"}", "log.level is debug"),
        ("redis: {address: \"redis.lan:6379\"}", "Redis at redis.lan is reached in plain text"),
        (
            "redis: {address: \"127.redis.example.com:6379\"}",
            "Redis at 127.redis.example.com is reached in plain text"
        ),
        ("limits: {vend: {whenRedisIsAway: \"open\"}}", "limits.vend.whenRedisIsAway is open"),
        ("renewal: {minimumAgeSeconds: 0}", "renewal.minimumAgeSeconds is 0"),
    ])
    func `settings that are weaker than they have to be`(more: String, expected: String) throws {
        let text =
            more.hasPrefix("vending")
            ? smallest(beside, vending: "lifetimeSeconds: 43200") : smallest("\(more), \(beside)")
        #expect(SettingsFindings(try settings(text)).all.lines == ["warning: \(expected)"])
    }

    @Test func `types that browsers run as pages of the assets' origin`() throws {
        let types = "keyPrefix: 'assets/', contentTypes: ['image/jpeg', 'image/svg+xml', 'text/html']"
        let text = smallest(beside.replacing("keyPrefix: 'assets/'", with: types))
        #expect(
            SettingsFindings(try settings(text)).all.lines
                == ["warning: uploads.contentTypes has image/svg+xml, text/html"])
    }

    @Test func `a lifecycle rule for users' folders is an error`() throws {
        let lines = SettingsFindings(try settings(smallest())).all.lines
        #expect(lines.count == 1 && lines[0].hasPrefix("error: lifecycle.prefixes has \"\", and users' folders"))
    }

    /// Rules that are beside users' folders.
    private let beside = "lifecycle: {prefixes: ['assets/']}, uploads: {keyPrefix: 'assets/'}"

    @Test func `sign-ins with Apple without a nonce`() throws {
        func lines(_ setting: String) throws -> [String] {
            let text = """
                {
                  region: "eu-central-1", bucket: "photos",
                  tokens: {issuers: [{preset: "apple", clientIDs: ["app"], \(setting)}]},
                  session: {issuer: "https://own.example", keys: [{keyID: "1", privateKey: {file: "session.pem"}}]},
                  vending: {roleARN: "arn:aws:iam::000000000000:role/session"}, \(beside),
                }
                """
            let settings = try settings(text, files: ["/etc/cloakroom/session.pem": TestIssuer.pem[0]])
            return SettingsFindings(settings).all.lines
        }
        #expect(
            try lines("requireNonce: false") == ["warning: requireNonce is false for https://appleid.apple.com"])
        #expect(try lines("") == ["ok: nothing in the settings is weaker than it has to be"])
    }

    @Test(arguments: ["127.0.0.1:6379", "LOCALHOST:6379", "[::1]:6379"])
    func `Redis on this machine needs neither TLS nor a password`(address: String) throws {
        let settings = try settings(smallest("redis: {address: '\(address)'}, \(beside)"))
        #expect(SettingsFindings(settings).all.lines == ["ok: nothing in the settings is weaker than it has to be"])
    }

    @Test func `settings without a weakness`() throws {
        #expect(
            SettingsFindings(try settings(smallest(beside))).all.lines == [
                "ok: nothing in the settings is weaker than it has to be"
            ])
    }
}
