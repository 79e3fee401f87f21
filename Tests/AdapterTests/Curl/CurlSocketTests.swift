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

    /// What is still watched cannot be watched again: the loop would end the process.
    @Test @LoopActor func `a socket that libcurl is done with is no longer watched`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let sockets = CurlSockets()
        let group = CurlGroup(keptConnections: 1, maximumConnections: nil, version: .http1, sockets: sockets) { _, _ in
        }
        defer { group.cleanUp() }
        for _ in 0..<2 {
            // CURL_POLL_IN, CURL_POLL_REMOVE
            sockets.setInterest(ends[0], 1, of: group)
            sockets.setInterest(ends[0], 4, of: group)
        }
        let watch = EventPoller.shared.watch(ends[0], for: .readable) { _ in }
        EventPoller.shared.unwatch(watch)
    }
}
