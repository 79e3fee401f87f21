import Testing

@testable import CloakroomServer

struct TracingSettingsTests {
    @Test func `is off, and has the path of OTLP when it is on`() throws {
        #expect(try settings(smallest()).tracing == nil)
        let tracing = try #require(try settings(smallest("tracing: {endpoint: 'https://otlp.example/otlp'}")).tracing)
        #expect(tracing.url == "https://otlp.example/otlp/v1/traces" && tracing.sampledPerThousand == 10)
        #expect(tracing.queueLength == 2048 && tracing.serviceName == "cloakroom" && tracing.authorization == nil)
    }

    @Test(arguments: [
        ("http://collector:4318", true), ("http://127.0.0.1:4318", false), ("https://collector:4318", false),
    ])
    func `an authorization is not sent in the open`(endpoint: String, isRefused: Bool) {
        let text = smallest("tracing: {endpoint: '\(endpoint)', authorization: {env: 'SIGNING'}}")
        #expect(
            settingsFaults(text)
                == (isRefused
                    ? [
                        "tracing.authorization: would be sent without TLS to \(endpoint); give tracing.endpoint with https"
                    ] : []))
    }
}
