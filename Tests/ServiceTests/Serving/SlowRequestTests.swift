import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct SlowRequestTests {
    /// A service whose STS takes 30 ms.
    @LoopActor private func service(_ threshold: Int) throws -> TestService {
        try TestService("log: {slowRequestMilliseconds: \(threshold)}, limits: {vend: {whenRedisIsAway: \"open\"}}") {
            request in
            try? await LoopActor.sleep(for: .milliseconds(30))
            return .assumed(for: request)
        }
    }

    @Test @LoopActor func `the line of a slow request says what it waited for`() async throws {
        let service = try service(20)
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token()).hasPrefix("200"))
        let line = try await service.logLines()
        #expect(line.contains(#""slow":true,"#))
        let wait = try #require(line.firstMatch(of: /"stsMilliseconds":(\d+)/).flatMap { Int($0.1) })
        #expect(wait >= 29)
        for other in ["s3Milliseconds", "keysMilliseconds"] { #expect(!line.contains(other)) }
    }

    @Test(arguments: [0, 60_000]) @LoopActor
    func `others say nothing of it`(threshold: Int) async throws {
        let service = try service(threshold)
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token()).hasPrefix("200"))
        let line = try await service.logLines()
        #expect(line.contains(#""message":"request""#) && !line.contains("slow") && !line.contains("stsMilliseconds"))
    }

    @Test func `a limit that was counted before a call of STS is no wait for STS`() {
        var waits = RequestWaits()
        waits.add(5_000_000, to: .sts)
        waits.add(4_000_000, to: .s3)
        waits.counted(2_000_000)
        waits.redis += 1_000_000
        var line = LogLine()
        line.begin(Array(#"{"time":"t""#.utf8), .info, "request")
        waits.write(to: &line)
        line.end()
        #expect(
            String(decoding: line.bytes, as: UTF8.self) == """
                {"time":"t","level":"info","message":"request","slow":true,"redisMilliseconds":3,"stsMilliseconds":3,\
                "s3Milliseconds":4}
                """)
    }
}
