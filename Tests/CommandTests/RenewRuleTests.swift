import CloakroomServer
import Testing

@testable import CloakroomCommand

struct RenewRuleTests {
    private func rule(_ more: String) throws -> RenewRule {
        let text = """
            {
              region: "eu-central-1", bucket: "photos", uploads: {keyPrefix: "assets/"},
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {env: "SIGNING"}}]},
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"}, \(more)
            }
            """
        return RenewRule(
            try Settings.load(
                file: "/settings.json5", environment: ["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]
            ) { $0 == "/settings.json5" ? Array(text.utf8) : nil })
    }

    @Test func `leaves users' folders alone unless assets are there, and Cloakroom's own objects always`() throws {
        let keys = ["assets/a", "photos/u_1/a", "photos/a", "assets/cloakroom-canary/h1/a"]
        let usual = try rule("lifecycle: {prefixes: ['assets/']}")
        #expect(keys.map { usual.mayRenew($0) } == [true, false, true, false])
        let entering = try rule("lifecycle: {prefixes: ['assets/'], expiresUserFolders: true}")
        #expect(keys.map { entering.mayRenew($0) } == [true, true, true, false])
    }

    @Test func `has another digest where other keys are left alone, and no other where the same are`() throws {
        let usual = try rule("lifecycle: {prefixes: ['assets/']}")
        #expect(try rule("lifecycle: {prefixes: ['assets/']}, renewal: {minimumAgeSeconds: 7}").digest == usual.digest)
        for other in [
            "lifecycle: {prefixes: ['assets/'], expiresUserFolders: true}",
            "lifecycle: {prefixes: ['assets/', 'pictures/']}",
            "lifecycle: {prefixes: ['assets/']}, renewal: {formerPrefixes: ['old/']}",
        ] {
            #expect(try rule(other).digest != usual.digest, "\(other)")
        }
    }
}
