import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct SettingsManualTests {
    @Test func `tells type, default and meaning of a key`() throws {
        #expect(
            try SettingsManual.text(of: "aws.useDualStack") == """
                aws.useDualStack
                    Type:     true or false
                    Default:  null
                    Whether AWS's IPv6 endpoints are used; null: as `AWS_USE_DUALSTACK_ENDPOINT`
                    or the profile say, else not.
                """)
        #expect(try SettingsManual.text(of: "region").contains("\n    Default:  none, the key is required\n"))
    }

    @Test func `tells all keys below what they begin with`() throws {
        #expect(
            try heads("limits.renew") == [
                "limits.renew.requests", "limits.renew.userRequests", "limits.renew.windowSeconds",
                "limits.renew.whenRedisIsAway",
            ])
        #expect(try heads(nil) == SettingsTable.wholeRows.map(\.path))
        #expect(try heads("vending.scope") == ["vending.scope"])
    }

    @Test(arguments: [
        "tokens.issuers[].audiences", "tokens.issuers.audiences", "tokens.issuers[1].audiences",
    ])
    func `takes keys of arrays with and without brackets`(key: String) throws {
        #expect(try heads(key) == ["tokens.issuers[].audiences"])
    }

    @Test(arguments: ["tiers.NAME.lifetimeSeconds", "tiers.pro.lifetimeSeconds"])
    func `takes any name for NAME`(key: String) throws {
        #expect(try heads(key) == ["tiers.NAME.lifetimeSeconds"])
    }

    @Test(arguments: [
        ("limts", "there is no key limts; the nearest is limits"),
        ("limits.renw", "there is no key limits.renw; the nearest is limits.renew"),
        ("limits.", "there is no key limits.; the nearest is limits"),
        ("tokens.issuers.secrte", "there is no key tokens.issuers.secrte; the nearest is tokens.issuers[].secret"),
        ("maximumAttempts", "there is no key maximumAttempts; the nearest is aws.maximumAttempts"),
        (String(repeating: "x", count: 201), "no key is that long"),
    ])
    func `names the key nearest to an unknown one`(key: String, expected: String) {
        #expect(description(of: key) == expected)
    }

    @Test func `tells what keys begin with where none is near`() {
        let text = description(of: "zzzzzzzzzzzz")
        #expect(
            text?.hasPrefix("there is no key zzzzzzzzzzzz; keys begin with: region, bucket, aws, tokens, session, ")
                == true)
    }

    @Test func `has no line of more than 80 characters`() throws {
        let lines = try SettingsManual.text(of: nil).split(separator: "\n")
        #expect(lines.filter { $0.count > 80 } == [])
    }

    @Test func `the page has every key, and ASCII alone`() {
        let page = SettingsManual.page(version: "1.2.3")
        #expect(page.utf8.allSatisfy { $0 < 0x80 })
        for row in SettingsTable.wholeRows {
            #expect(page.contains("\n.TP\n\\fB\(row.path)\\fP\n"), "\(row.path)")
        }
        #expect(page.contains("\n\\&\\fBhost:port\\fP, or \\fBunix:\\fP and a path; null: "))
        #expect(page.contains("\n\\&integer, 1\\[u2026]5000; default: 40\n"))
    }

    @Test func `keys can be typed in a shell`() {
        #expect(SettingsManual.keys.contains("tokens.issuers.secret"))
        #expect(SettingsManual.keys.allSatisfy { !$0.contains("[") })
    }

    private func heads(_ key: String?) throws -> [String] {
        try SettingsManual.text(of: key).split(separator: "\n").filter { !$0.hasPrefix(" ") }.map { String($0) }
    }

    private func description(of key: String) -> String? {
        do throws(SettingsManual.UnknownKeyError) {
            _ = try SettingsManual.text(of: key)
            return nil
        } catch { return error.description }
    }
}
