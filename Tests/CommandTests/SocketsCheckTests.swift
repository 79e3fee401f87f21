import CloakroomFastCGI
import Glibc
import CloakroomLoop
import CloakroomServer
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct SocketsCheckTests {
    @Test @LoopActor func `silent workers take no longer than one, and hide no other`() async throws {
        let folder = try TemporaryFolder()
        var addresses: [ListenAddress] = []
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        for number in 1...20 {
            // Connections to it wait, and are never accepted.
            let address = ListenAddress.unix(path: folder["\(number).sock"])
            sockets.append(try address.listen())
            addresses.append(.unix(path: try #require(address.temporaryPath(of: getpid()))))
        }
        addresses.append(.unix(path: folder["none.sock"]))
        let start = ContinuousClock.now
        let outcomes = await SocketsCheck.outcomes(addresses, timeout: .milliseconds(200))
        #expect(start.duration(to: .now) < .seconds(2))
        #expect(outcomes.dropLast() == ArraySlice(repeating: .silent, count: 20))
        #expect(outcomes.last == .unreachable("No such file or directory"))
    }
}
