import CloakroomLoop
import Testing

@testable import CloakroomServer

/// All requests of ``TestService`` come from one address.
@Suite(.onLoop)
struct CrowdTests {
    @Test @LoopActor func `an address at which many users get credentials is counted once`() async throws {
        let service = try TestService()
        for number in 0..<100 {
            let answer = await service.ask(
                "POST", "/api/v1/auth/sts-token", token: try service.token("u_\(number)"))
            #expect(answer.hasPrefix("200\n"), "\(answer)")
        }
        #expect(await service.ask("GET", "/metrics").contains("\ncloakroom_crowded_addresses_total 1\n"))
    }

    @Test @LoopActor func `many users who upload are no crowd`() async throws {
        let service = try TestService()
        for number in 0..<100 {
            let answer = await service.ask(
                "GET", "/v2/attachments/presigned?contentType=image/jpeg", token: try service.token("u_\(number)"))
            #expect(answer.hasPrefix("200\n"), "\(answer)")
        }
        #expect(await service.ask("GET", "/metrics").contains("\ncloakroom_crowded_addresses_total 0\n"))
    }
}
