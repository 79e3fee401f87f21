import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct HeadTests {
    @Test(arguments: ["/healthz", "/readyz", "/metrics"]) @LoopActor
    func `HEAD is answered as GET, without the body`(path: String) async throws {
        let service = try TestService(probes: [])
        let whole = await service.ask("GET", path)
        let head = await service.ask("HEAD", path)
        #expect(whole.hasPrefix("200"))
        #expect(head.hasPrefix("200") && head.count < whole.count && whole.hasPrefix(head))
        #expect(head.hasSuffix("\n\n"))
    }
}
