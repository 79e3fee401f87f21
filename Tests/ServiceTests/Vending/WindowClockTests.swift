import CloakroomAWS
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

/// Windows of policies end by AWS' clock, whatever ours shows.
@Suite(.onLoop)
struct WindowClockTests {
    private static let template = #"""
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject",
          "Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/*",
          "Condition": {"DateLessThan": {"aws:CurrentTime": "${now+300s}"}}}]}
        """#

    /// - Parameter sts: gives a session of an hour.
    @LoopActor private func service(
        _ sts: @escaping @Sendable () -> UpstreamResponse
    ) throws -> TestService {
        let text = smallest(
            #"limits: {vend: {requests: 10, whenRedisIsAway: "open"}}"#,
            vending: #"scopes: {narrow: {template: "narrow.json"}}"#)
        return try TestService(file: (text, ["/etc/cloakroom/narrow.json": Self.template])) { _ in sts() }
    }

    /// An hour from that time on.
    private static func session(from time: Date, date: Date? = nil) -> UpstreamResponse {
        let assumed = UpstreamResponse.assumed(until: time.addingTimeInterval(3600).formatted(.iso8601))
        var fields: HeaderFields = [:]
        if let date { fields.add("Date", Timestamp(date).http) }
        return UpstreamResponse(status: 200, fields: fields, body: assumed.body)
    }

    @LoopActor private func vend(_ service: TestService, scope: String = "narrow") async throws -> String {
        await service.ask(
            "POST", "/api/v1/auth/sts-token", token: try service.token(), body: "{\"scope\":\"\(scope)\"}")
    }

    /// The end of the window in the policy that STS was sent last.
    @LoopActor private func windowEnd(_ service: TestService) throws -> String {
        let form = String(decoding: try #require(service.transport.requests.last).body, as: UTF8.self)
        let policy = try #require(form.removingPercentEncoding)
        let start = try #require(policy.firstRange(of: #""aws:CurrentTime":""#)).upperBound
        return String(policy[start...].prefix { $0 != "\"" })
    }

    @Test(
        arguments: [(360, "2027-01-15T08:11:00Z", "behind"), (-600, "2027-01-15T07:55:00Z", "ahead")]
            as [(Double, String, String)])
    @LoopActor func `a clock that is wrong costs one more session, the first time`(
        ahead: Double, end: String, clock: String
    ) async throws {
        let aws = TestClock()
        aws.pass(ahead)
        let service = try service { Self.session(from: aws.now, date: aws.now) }
        for (number, calls) in [(1, 2), (2, 3)] {
            let answer = try await vend(service)
            #expect(answer.hasPrefix("200\n"), "\(answer)")
            #expect(try windowEnd(service) == end)
            #expect(answer.contains("\"expiration\":\"\(end)\""), "\(answer)")
            #expect(answer.contains("\"vend\";r=\(10 - number);"), "a second session counts as none: \(answer)")
            #expect(service.transport.requests.count == calls)
        }
        let lines = try await service.logLines()
        #expect(lines.ranges(of: "our clock is not STS's").count == 1, "\(lines)")
        #expect(lines.contains(#""seconds":\#(ahead > 0 ? 360 : 599),"clock":"\#(clock)""#), "\(lines)")
    }

    @Test @LoopActor func `a clock that is set right is taken for right again`() async throws {
        let aws = TestClock()
        aws.pass(360)
        let service = try service { Self.session(from: aws.now, date: aws.now) }
        #expect(try await vend(service).hasPrefix("200\n"))
        service.clock.pass(360)
        #expect(try await vend(service).hasPrefix("200\n"))
        #expect(try windowEnd(service) == "2027-01-15T08:11:00Z")
        #expect(service.transport.requests.count == 4)
        #expect(try await vend(service).hasPrefix("200\n"))
        #expect(service.transport.requests.count == 5)
        #expect(try await service.logLines().ranges(of: "our clock is STS's again").count == 1)
    }

    @Test(arguments: [(0, 1), (5, 1), (6, 2), (-6, 1), (-7, 2)] as [(Double, Int)])
    @LoopActor func `a few seconds, and the fraction that STS leaves out, are no difference`(
        ahead: Double, calls: Int
    ) async throws {
        let aws = TestClock()
        aws.pass(ahead)
        let service = try service { Self.session(from: aws.now, date: aws.now) }
        #expect(try await vend(service).hasPrefix("200\n"))
        #expect(service.transport.requests.count == calls)
    }

    @Test @LoopActor func `nothing is handed out while the clocks fit from no call to the next`() async throws {
        let aws = TestClock()
        let service = try service {
            aws.pass(100)
            return Self.session(from: aws.now)
        }
        let answer = try await vend(service)
        #expect(answer.hasPrefix("503\n") && answer.contains("Retry-After: 1"), "\(answer)")
        #expect(service.transport.requests.count == 2)
        #expect(service.auditLines.isEmpty)
        let lines = try await service.logLines()
        #expect(lines.contains("do not fit from one call to the next") && lines.contains(#""reason":"UnsteadyClock""#))
    }

    /// Half an hour of the hour that was requested, or a proxy's `Date`.
    @Test(arguments: [(-1800, 0), (0, 600)] as [(Double, Double)])
    @LoopActor func `what only the end or only the date says is no difference`(end: Double, date: Double) async throws {
        let time = TestClock().now
        let service = try service {
            Self.session(from: time.addingTimeInterval(end), date: time.addingTimeInterval(date))
        }
        #expect(try await vend(service).hasPrefix("200\n"))
        #expect(service.transport.requests.count == 1)
    }

    @Test @LoopActor func `credentials without a window are handed out as STS gave them`() async throws {
        let aws = TestClock()
        aws.pass(360)
        let service = try service { Self.session(from: aws.now, date: aws.now) }
        let answer = try await vend(service, scope: "full")
        #expect(answer.hasPrefix("200\n") && answer.contains("2027-01-15T09:06:00Z"), "\(answer)")
        #expect(service.transport.requests.count == 1)
        #expect(try await service.logLines().contains("our clock") == false)
    }

    /// - Parameter took: the call, in seconds.
    private static func told(_ ahead: Double, took: Double = 0) throws -> ClockDifference {
        let sent = TestClock().now
        return try #require(
            ClockDifference(
                theirs: sent.addingTimeInterval(ahead), sent: sent, received: sent.addingTimeInterval(took)))
    }

    @Test func `a clock that drifts is followed, and told of once`() throws {
        var clock = WindowClock()
        let noted = try [360, 364, 369, 0, 0].map { clock.note(try Self.told($0)) }
        #expect(noted == [360, nil, nil, 0, nil])
        #expect(clock.difference == .zero)
        // Being set right slowly.
        let slow = try [20, 16, 12, 8, 4, 0].map { clock.note(try Self.told($0)) }
        #expect(slow == [20, nil, nil, nil, nil, 0])
        #expect(clock.difference == .zero)
    }

    @Test func `a call that took long tells nothing that is known better`() throws {
        var clock = WindowClock()
        _ = clock.note(try Self.told(20))
        let known = clock.difference
        let slow = clock.note(try Self.told(20, took: 30))
        #expect(slow == nil && clock.difference == known)
        let news = clock.note(try Self.told(60, took: 20))
        #expect(news == 40)
        #expect(ClockDifference(theirs: Date(), sent: Date(), received: Date(timeIntervalSinceNow: -9)) == nil)
    }

    @Test func `a window never begins after the request`() throws {
        let ours = TestClock().now
        // Their clock showed between 19 and 21 seconds more than ours.
        let start = WindowClock.time(at: ours, by: try Self.told(20, took: 1))
        #expect(start == ours.addingTimeInterval(19))
    }
}
