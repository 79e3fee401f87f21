import Foundation
import CloakroomHTTP
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct NginxFindingsTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let url = "https://api.example"
    private static let fields: HeaderFields = [
        "Content-Type": "application/json", "Server": "nginx", "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer", "Strict-Transport-Security": "max-age=63072000",
    ]

    private static func status(_ status: Int, _ fields: HeaderFields = fields) -> NginxObservations.Outcome {
        .success(UpstreamResponse(status: status, fields: fields))
    }

    private static func lines(_ change: (inout NginxObservations) -> Void = { _ in }, url: String = url) throws
        -> [String]
    {
        var notAllowed = fields
        notAllowed["Allow"] = "POST"
        var answers = NginxObservations(
            url: url, unknown: status(404), wrongMethod: status(405, notAllowed), largest: status(401),
            tooLarge: status(413), metrics: status(403), disguisedMetrics: status(403),
            health: status(403), foreignHealth: status(403),
            certificateEnd: now.addingTimeInterval(60.5 * 86_400))
        change(&answers)
        return NginxFindings(answers, try settings(smallest()), now: now).all.lines
    }

    private static func wrong(_ change: (inout NginxObservations) -> Void, url: String = url) throws -> [String] {
        try lines(change, url: url).filter { !$0.hasPrefix("ok") }
    }

    @Test func `has nothing to say against nginx as it is deployed`() throws {
        #expect(
            try Self.lines() == [
                "ok: a worker responds behind https://api.example",
                "ok: the headers of cloakroom/headers.conf are sent",
                "ok: GET where POST belongs gets 405",
                "ok: a body of 65536 bytes is let in, one byte more gets 413",
                "ok: the certificate is good for 60 days", "ok: /metrics responds 403 from here",
            ])
    }

    @Test func `tells nginx without workers, and others in their place`() throws {
        #expect(
            try Self.wrong { $0.unknown = Self.status(502) } == [
                "error: https://api.example responds 502 for a path that is no route"
            ])
        #expect(
            try Self.wrong { $0.unknown = Self.status(200, ["Content-Type": "text/html"]) } == [
                "error: https://api.example responds 200 for a path that is no route"
            ])
        #expect(try Self.lines { $0.unknown = .failure(.untrusted) }.count == 1)
    }

    @Test func `tells headers that are missing, said twice, or too talkative`() throws {
        var fields = Self.fields
        fields["Cache-Control"] = "public"
        fields["Strict-Transport-Security"] = nil
        fields["Server"] = "nginx/1.22.1"
        let bare = fields
        #expect(
            try Self.wrong { $0.unknown = Self.status(404, bare) } == [
                "warning: responses lack Cache-Control, Strict-Transport-Security",
                "warning: responses say nginx/1.22.1",
            ])
        fields = Self.fields
        fields.add("referrer-policy", "no-referrer")
        let twice = fields
        #expect(
            try Self.wrong { $0.unknown = Self.status(404, twice) } == [
                "warning: responses have Referrer-Policy twice"
            ])
    }

    @Test func `advises about the balancer where only the promise of HTTPS is missing`() throws {
        var fields = Self.fields
        fields["Strict-Transport-Security"] = nil
        let observations = NginxObservations(
            url: Self.url, unknown: Self.status(404, fields), wrongMethod: Self.status(405), largest: Self.status(401),
            tooLarge: Self.status(413), metrics: Self.status(403), disguisedMetrics: Self.status(403),
            health: Self.status(403), foreignHealth: Self.status(403))
        let found = NginxFindings(observations, try settings(smallest()), now: Self.now).all
            .filter { $0.found == "responses lack Strict-Transport-Security" }
        #expect(
            found.map(\.advice) == [
                "where TLS ends before nginx, let the balancer set X-Forwarded-Proto to https, which log.conf of this"
                    + " version reads, or send the header itself"
            ])
    }

    @Test func `tells bodies that are bounded otherwise than the worker's`() throws {
        #expect(
            try Self.wrong { $0.tooLarge = Self.status(401) } == [
                "error: a body of 65537 bytes gets 401, not 413"
            ])
        #expect(
            try Self.wrong { $0.largest = Self.status(413) } == [
                "warning: a body of 65536 bytes gets 413, though server.maximumBodyBytes allows it"
            ])
        #expect(try Self.wrong { $0.largest = .failure(.interrupted) } == ["warning: a large body gets no response"])
    }

    @Test func `tells metrics that anybody can read`() throws {
        #expect(try Self.wrong { $0.metrics = Self.status(200) } == ["warning: /metrics is open to this machine"])
        #expect(
            try Self.wrong { $0.disguisedMetrics = Self.status(200) } == [
                "error: /metrics is open to clients that claim in X-Forwarded-For to be 127.0.0.1"
            ])
        #expect(try Self.wrong({ $0.metrics = Self.status(200) }, url: "http://127.0.0.1:8080") == [])
    }

    @Test(arguments: ["https://api.example", "http://127.0.0.1:8080"])
    func `tells nginx that lets this machine choose its address`(url: String) throws {
        #expect(
            try Self.wrong({ $0.health = Self.status(200) }, url: url) == [
                "warning: nginx takes the address of this machine from the X-Forwarded-For that it sends"
            ])
        func ignored(_ answers: inout NginxObservations) {
            answers.health = Self.status(200)
            answers.foreignHealth = Self.status(200)
        }
        #expect(try Self.wrong(ignored, url: url) == [])
    }

    @Test(arguments: [
        (20.9, "warning: the certificate ends in 20 days"), (-0.1, "error: the certificate has ended"),
    ])
    func `tells a certificate that ends`(days: Double, expected: String) throws {
        #expect(try Self.wrong { $0.certificateEnd = Self.now.addingTimeInterval(days * 86_400) } == [expected])
    }

    @Test func `reads dates as OpenSSL prints them`() {
        #expect(NginxObservations.date(openSSL: "Jan 15 08:00:00 2027 GMT") == Self.now)
        #expect(NginxObservations.date(openSSL: "Jan  5 08:00:00 2027 GMT") == Self.now.addingTimeInterval(-864_000))
        #expect(NginxObservations.date(openSSL: "2027-01-15") == nil)
    }

    @Test func `minds plain HTTP on a network`() throws {
        #expect(
            try Self.wrong({ $0.certificateEnd = nil }, url: "http://api.example") == [
                "error: http://api.example is plain HTTP"
            ])
    }
}
