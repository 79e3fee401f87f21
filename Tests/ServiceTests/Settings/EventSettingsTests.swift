import Testing

@testable import CloakroomServer

struct EventSettingsTests {
    private static let webhook = "url: 'https://hooks.example/cloakroom', secret: {env: 'SIGNING'}"

    @Test func `there are none unless a stream is named`() throws {
        #expect(try settings(smallest()).events == nil)
        let events = try #require(try settings(smallest("events: {stream: 'events'}")).events)
        #expect(events.stream == "events" && events.maximumLength == 100_000 && !events.tellsSignIns)
        #expect(events.webhook == nil)
    }

    @Test func `a webhook has a URL, a secret and bounds`() throws {
        let text = smallest("events: {stream: 'events', webhook: {\(Self.webhook)}}")
        let webhook = try #require(try settings(text).events?.webhook)
        #expect(webhook.url == "https://hooks.example/cloakroom" && "\(webhook.key)" == "<secret>")
        #expect(webhook.timeout == .seconds(5) && webhook.maximumAttempts == 100)
        #expect(webhook.maximumAge == .seconds(86_400) && webhook.deadMaximumLength == 10_000)
    }

    @Test(arguments: ["http://127.0.0.1:8080/hook", "http://localhost/hook", "https://hooks.example/a?b=c"])
    func `plain HTTP is for this host alone`(url: String) {
        #expect(
            settingsFaults(smallest("events: {stream: 'events', webhook: {url: '\(url)', secret: {env: 'SIGNING'}}}"))
                == [])
    }

    @Test(arguments: [
        (
            "events: {stream: 'events', webhook: {url: 'http://hooks.example/', secret: {env: 'SIGNING'}}}",
            "events.webhook.url: is \"http://hooks.example/\"; give: https URL, or http to a loopback address"
        ),
        (
            "events: {stream: '{events}'}",
            "events.stream: is \"{events}\"; give: string of 1…64 letters, digits and _.-"
        ),
        (
            "events: {webhook: {\(webhook)}}",
            "events.webhook.url: stands without events.stream; give the stream a name, such as \"events\""
        ),
        (
            "events: {signIns: true}",
            "events.signIns: stands without events.stream; give the stream a name, such as \"events\""
        ),
        (
            "events: {stream: 'events', webhook: {url: 'https://hooks.example/'}}",
            "events.webhook.secret: is missing: nothing is posted unsigned;"
                + " give a secret made with: openssl rand -base64 32"
        ),
        (
            "events: {stream: 'events', webhook: {secret: {env: 'SIGNING'}}}",
            "events.webhook.secret: stands without events.webhook.url; give both, or neither"
        ),
    ])
    func `finds what does not go together`(more: String, fault: String) {
        #expect(settingsFaults(smallest(more)) == [fault])
    }

    @Test func `a weak secret is refused`() {
        let text = smallest("events: {stream: 'events', webhook: {url: 'https://hooks.example/', secret: {env: 'W'}}}")
        #expect(settingsFaults(text, environment: ["W": "secret"]).first?.hasPrefix("events.webhook.secret: ") == true)
    }
}
