import CloakroomAWS
import Foundation
import CloakroomHTTP
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct EndpointFindingsTests {
    private static func lines(
        date: String? = nil, url: String = "https://sts.eu-west-1.amazonaws.com", sentAt second: Double = 0,
        error: TransportError? = nil, issuer: String = ""
    ) throws -> [String] {
        let sent = Date(timeIntervalSince1970: 1_800_000_000 + second)
        var response = UpstreamResponse(status: 403)
        response.fields["Date"] = date
        let answer = EndpointObservation(
            name: "STS", url: url, result: error.map { .failure($0) } ?? .success(response), sent: sent,
            received: sent.addingTimeInterval(0.2))
        return EndpointFindings.all(answer, tokens: try settings(smallest(issuer: issuer)).tokens).lines
    }

    /// 1,800,000,000.
    private static let date = "Fri, 15 Jan 2027 08:00:00 GMT"

    @Test(arguments: [
        (0.5, "ok: our clock is STS's"), (-1.5, "ok: our clock is STS's"), (2.9, "ok: our clock is STS's"),
        (11, "warning: our clock is 10 s ahead of STS's"), (-20.2, "warning: our clock is 20 s behind STS's"),
        (901, "error: our clock is 900 s ahead of STS's"), (-40.2, "error: our clock is 40 s behind STS's"),
    ])
    func `holds our clock against theirs, which shows whole seconds`(second: Double, expected: String) throws {
        #expect(try Self.lines(date: Self.date, sentAt: second).last == expected)
    }

    @Test func `goes by the issuer that tolerates least`() throws {
        for (issuer, level) in [("leewaySeconds: 5", "error"), ("leewaySeconds: 60", "warning"), ("", "warning")] {
            let line = try Self.lines(date: Self.date, sentAt: -20.2, issuer: issuer).last
            #expect(line == "\(level): our clock is 20 s behind STS's", "\(issuer)")
        }
    }

    @Test func `says nothing of a clock that it was not told`() throws {
        #expect(
            try Self.lines() == ["ok: STS responds at https://sts.eu-west-1.amazonaws.com, its certificate verified"])
    }

    @Test(arguments: [
        ("http://127.0.0.1:8333", "ok: STS responds at http://127.0.0.1:8333, on this machine"),
        ("http://s3.lan:8333", "warning: STS is reached in plain text: http://s3.lan:8333"),
    ])
    func `minds plain text on a network`(url: String, expected: String) throws {
        #expect(try Self.lines(url: url) == [expected])
    }

    @Test(arguments: [
        (TransportError.untrusted, "the certificate of https://s is not trusted"),
        (.unreachable, "https://s is unreachable"),
        (.timeout, "https://s does not respond in time"),
        (.interrupted, "https://s breaks off the connection, or does not speak HTTP"),
        (.tooLarge, "https://s does not speak HTTP"),
    ])
    func `tells why nobody answers`(error: TransportError, expected: String) throws {
        #expect(try Self.lines(url: "https://s", error: error) == ["error: STS: \(expected)"])
    }
}
