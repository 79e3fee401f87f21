import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct SocketFindingsTests {
    private static func lines(_ outcome: SocketOutcome) -> [String] {
        SocketFindings.all([(address: "unix:/w", outcome: outcome)]).lines
    }

    @Test func `tells a worker that is ready, and what another lacks`() {
        #expect(Self.lines(.answered(status: 200, body: [])) == ["ok: the worker at unix:/w is ready"])
        let body = #"{"ready":false,"redis":"no connection","sts":"ok"}"#
        #expect(
            Self.lines(.answered(status: 503, body: Array(body.utf8))) == [
                "error: the worker at unix:/w is not ready (redis: no connection)"
            ])
    }

    @Test(arguments: [
        (SocketOutcome.unreachable("Connection refused"), "no worker can be reached at unix:/w: Connection refused"),
        (.silent, "the worker at unix:/w does not respond"),
        (.answered(status: 404, body: []), "unix:/w responds 404 to /readyz"),
    ])
    func `tells sockets without a worker`(outcome: SocketOutcome, expected: String) {
        #expect(Self.lines(outcome) == ["error: \(expected)"])
    }
}
