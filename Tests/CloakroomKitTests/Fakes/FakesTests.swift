import CloakroomAWS
import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

/// The fakes keep their promises, or the tests that lean on them prove nothing.
@Suite struct FakesTests {
    @Test func `responses come in order and requests are recorded`() async throws {
        let http = ScriptedHTTP(.json(200, "{}"), .failure(.timedOut))
        let url = try #require(URL(string: "https://a.example/b?c=d"))
        let response = try await http.send(HTTPRequest(method: "POST", url: url, body: .bytes(Data("x".utf8))))
        #expect(response.status == 200)
        #expect(response["content-TYPE"] == "application/json")
        await #expect(throws: HTTPTransportError.timedOut) { try await http.send(HTTPRequest(method: "GET", url: url)) }
        #expect(await http.lines == ["POST https://a.example/b?c=d", "GET https://a.example/b?c=d"])
        #expect(await http.sent[0].text == "x")
    }

    @Test func `what is held waits for its gate and counts as being in flight`() async throws {
        let gate = Gate()
        let http = ScriptedHTTP { _, _ in .held(gate, .response(204)) }
        let url = try #require(URL(string: "https://a.example/"))
        let tries = (0..<3).map { _ in Task { try await http.send(HTTPRequest(method: "GET", url: url)).status } }
        await http.arrival(of: 3)
        #expect(await http.concurrency == 3)
        tries[0].cancel()
        await #expect(throws: HTTPTransportError.cancelled) { try await tries[0].value }
        await gate.open()
        #expect(try await tries[1].value == 204)
        #expect(try await tries[2].value == 204)
        #expect(await http.concurrency == 0)
        #expect(await http.highestConcurrency == 3)
    }

    @Test func `a sleep passes at once and is written down`() async throws {
        let fake = FakeRuntime()
        let before = (fake.runtime.now(), fake.runtime.wallClock())
        try await fake.runtime.sleep(.milliseconds(1500))
        #expect(fake.sleeps == [.milliseconds(1500)])
        #expect(before.0.duration(to: fake.now) == .milliseconds(1500))
        #expect(fake.wallTime.timeIntervalSince(before.1) == 1.5)
    }

    @Test func `a sleep that waits ends when enough time has passed or it is cancelled`() async throws {
        let fake = FakeRuntime(sleeping: .waits)
        let short = Task { try await fake.runtime.sleep(.seconds(1)) }
        let long = Task { try await fake.runtime.sleep(.seconds(9)) }
        try await until { fake.sleeps.count == 2 }
        fake.pass(.seconds(5))
        try await short.value
        long.cancel()
        await #expect(throws: CancellationError.self) { try await long.value }
        #expect(fake.sleeps.sorted() == [.seconds(1), .seconds(9)])
    }
}
