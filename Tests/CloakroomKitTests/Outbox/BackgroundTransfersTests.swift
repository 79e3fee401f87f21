import Foundation
import Synchronization
import Testing

@testable import CloakroomKit

@Suite struct BackgroundTransfersTests {
    @Test func `what a launch hears before anything listens is kept, with the reason of a refusal`() async throws {
        let transfers = BackgroundTransfers()
        transfers.didReceive("a", Data("<Error>".utf8))
        transfers.didReceive("a", Data(repeating: 7, count: 1 << 20))
        transfers.didEnd("a", HTTPResponseHead(status: 403, fields: [("X", "y")], isDecoded: false), nil)
        transfers.didEnd("b", nil, .timedOut)
        var events = transfers.events.stream().makeAsyncIterator()
        guard case .ended("a", .success(let response)) = await events.next() else { throw CloakroomError.cancelled }
        #expect(response.status == 403 && response.body.count == BackgroundTransfers.maximumBodyBytes)
        guard case .ended("b", .failure(.timedOut)) = await events.next() else { throw CloakroomError.cancelled }
    }

    @Test func `a reader that was cancelled has a successor, who hears of what ended in between`() async throws {
        let transfers = BackgroundTransfers()
        let stream = transfers.events.stream()
        let reader = Task { for await _ in stream {} }
        reader.cancel()
        await reader.value
        transfers.didSend("a", bytesSent: 3)
        transfers.didEnd("a", nil, .timedOut)
        let next = transfers.events.stream()
        transfers.didEnd("b", nil, .timedOut)
        // Its reader was forgotten, not cancelled.
        _ = transfers.events.stream()
        var ids: [String] = []
        for await event in next {
            guard case .ended(let id, _) = event else { throw CloakroomError.cancelled }
            ids.append(id)
        }
        #expect(ids == ["a", "b"])
    }

    @Test func `a cancellation returns when the transfer has ended, or there is none`() async {
        let transfers = BackgroundTransfers()
        await transfers.end("a") {
            transfers.didEnd("a", nil, .cancelled)
            return true
        }
        await transfers.end("b") { false }
    }

    @Test func `the system is told once that all events have come, in either order`() {
        let calls = Mutex(0)
        let transfers = BackgroundTransfers()
        for isLate in [false, true, false] {
            if isLate { transfers.didReceiveAllEvents() }
            transfers.handleEvents { calls.withLock { $0 += 1 } }
            if !isLate { transfers.didReceiveAllEvents() }
        }
        #expect(calls.withLock { $0 } == 3)
    }

    @Test func `each of two launches is told that all events have come`() {
        let calls = Log<Int>()
        let transfers = BackgroundTransfers()
        for number in 1...2 { transfers.handleEvents { calls.append(number) } }
        transfers.didReceiveAllEvents()
        #expect(calls.all == [1, 2])
    }

    @Test func `a part of a file is written to a file of its own, which goes with its transfer`() async throws {
        let folder = try TemporaryFolder()
        let bodies = BackgroundBodies(folder: folder.url.appendingPathComponent("parts"))
        let file = try folder.write("photo", "0123456789")
        func body(_ range: Range<Int64>) async throws -> URL {
            let request = HTTPRequest(
                method: "PUT", url: URL(string: "https://s3.example/k")!, body: .file(file, range))
            return try await bodies.file(of: request, id: "outbox/item/1")
        }
        #expect(try await body(0..<10) == file)
        let part = try await body(2..<5)
        #expect(try Data(contentsOf: part) == Data("234".utf8))
        bodies.removeAll(but: ["outbox/item/1"])
        #expect(FileManager.default.fileExists(atPath: part.path))
        bodies.remove("outbox/item/1")
        #expect(!FileManager.default.fileExists(atPath: part.path))
        await #expect(throws: CloakroomError.self) { try await body(5..<11) }
    }
}
