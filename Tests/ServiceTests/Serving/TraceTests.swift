import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct TraceTests {
    private static let id = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test @LoopActor func `log and audit name the trace that a request is a part of`() async throws {
        let service = try TestService()
        let (member, token) = (#""request":"000000000000abcd","trace":"\#(Self.id)""#, try service.token())
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: token, trace: Self.id).hasPrefix("200"))
        #expect(try await service.logLines().contains(member))
        #expect(service.auditLines.contains(member))
    }

    @Test @LoopActor func `without one they say nothing of it`() async throws {
        let service = try TestService()
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token()).hasPrefix("200"))
        #expect(try await !service.logLines().contains("trace"))
        #expect(!service.auditLines.contains("trace"))
    }
}
