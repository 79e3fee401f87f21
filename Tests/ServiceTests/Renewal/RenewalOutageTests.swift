import CloakroomHTTP
import CloakroomLoop
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct RenewalOutageTests {
    @LoopActor private func renew(_ service: TestService) async throws -> String {
        await service.ask(
            "POST", "/v2/assets/renew-batch", token: try service.token(),
            fields: ["Content-Type": "application/json"], body: #"{"assetKeys":["a.jpg","b.jpg"]}"#)
    }

    @Test @LoopActor func `an outage of S3 uses up none of what a device may renew`() async throws {
        let isDown = Mutex(true)
        let service = try TestService { _ in isDown.withLock { $0 } ? .error(500, "InternalError") : .copied }
        for _ in 1...3 {
            let answer = try await renew(service)
            #expect(answer.hasPrefix("503\n"), "\(answer)")
            #expect(answer.contains("\"renew\";r=2;t=3600, \"renewKeys\";r=1000;t=3600"), "\(answer)")
        }
        isDown.withLock { $0 = false }
        let answer = try await renew(service)
        #expect(answer.hasPrefix("200\n") && answer.contains("\"renew\";r=1;"), "\(answer)")
    }

    @Test @LoopActor func `a renewal that S3 throttles, or of which one key is done, counts`() async throws {
        let throttled = try TestService { _ in .error(503, "SlowDown") }
        #expect(try await renew(throttled).contains("\"renew\";r=1;"))
        let partial = try TestService { request in
            request.url.contains("a.jpg") ? .copied : .error(500, "InternalError")
        }
        let answer = try await renew(partial)
        #expect(answer.hasPrefix("503\n") && answer.contains("\"renew\";r=1;"), "\(answer)")
    }
}
