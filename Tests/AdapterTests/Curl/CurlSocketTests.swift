import Glibc
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCurl

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct CurlSocketTests {
    /// A pipe tells that its other end was closed, and of nothing to read: `EPOLLHUP` alone.
    @Test @LoopActor func `tells libcurl to read where there is nothing but an end`() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        close(ends[1])
        var socket: CurlSocket?
        let events = await withCheckedContinuation { continuation in
            var waiting: CheckedContinuation<Int32, Never>? = continuation
            socket = CurlSocket(ends[0], .read) { events in
                waiting?.resume(returning: events)
                waiting = nil
            }
        }
        socket?.unwatch()
        // CURL_CSELECT_IN
        #expect(events == 1)
    }
}
