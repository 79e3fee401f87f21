import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct DeliveredFileTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.url.appendingPathComponent("film.mov") }

    init() throws { folder = try TemporaryFolder() }

    @Test func `bytes are written in the order in which they come`() async throws {
        try await DeliveredFile.write(to: file) { receive, end in
            Task {
                for text in ["one ", "and ", "two"] { receive(Data(text.utf8)) }
                end(nil)
            }
            return { Issue.record("a delivery that is over needs no cancellation") }
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == "one and two")
    }

    @Test func `a task that is cancelled ends the delivery, and does not wait for its end`() async throws {
        let (begun, cancelled) = (Gate(), Log<Bool>())
        let file = file
        let task = Task {
            try await DeliveredFile.write(to: file) { receive, _ in
                receive(Data("one".utf8))
                Task { await begun.open() }
                return { cancelled.append(true) }
            }
        }
        await begun.pass()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(cancelled.all == [true])
    }

    @Test(.timeLimit(.minutes(1))) func `a delivery that makes no progress for five minutes ends`() async throws {
        let clock = FakeRuntime(sleeping: .waits)
        let (begun, cancelled) = (Log<DeliveredFile.Receive>(), Log<Bool>())
        let file = file
        let task = Task {
            try await DeliveredFile.write(to: file, runtime: clock.runtime) { receive, _ in
                receive(Data("one".utf8))
                begun.append(receive)
                return { cancelled.append(true) }
            }
        }
        for look in 1...30 {
            try await until { clock.sleeps.count == look }
            // Bytes, and then signs that others have arrived.
            if look < 10 { begun.all.first?(Data("+".utf8)) } else if look < 21 { begun.all.first?(Data()) }
            #expect(cancelled.all == [])
            clock.pass(DeliveredFile.idleTimeout / 10)
        }
        let error = await #expect(throws: CloakroomError.self) { try await task.value }
        #expect(error?.code == .timedOut)
        #expect(CloakroomError(exporting: "film.mov", try #require(error)).code == .timedOut)
        #expect(cancelled.all == [true])
        #expect(try String(contentsOf: file, encoding: .utf8) == "one+++++++++")
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a full disk ends the delivery`() async throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        defer { disk.unmount() }
        let cancelled = Log<Bool>()
        let error = await #expect(throws: (any Error).self) {
            try await DeliveredFile.write(to: disk.url.appendingPathComponent("film.mov")) { receive, _ in
                for _ in 0..<3 { receive(Data(count: 1 << 19)) }
                return { cancelled.append(true) }
            }
        }
        #expect(CloakroomError(exporting: "film.mov", try #require(error)).code == .diskFull)
        #expect(cancelled.all == [true])
    }

    @Test(arguments: [
        ("PHPhotosErrorDomain", 3072, CloakroomError.Code.cancelled), ("PHPhotosErrorDomain", 3164, .unreachable),
        ("PHPhotosErrorDomain", 3169, .unreachable), ("PHPhotosErrorDomain", 3305, .diskFull),
        ("PHPhotosErrorDomain", 3310, .photosNotAllowed), ("PHPhotosErrorDomain", 3311, .photosNotAllowed),
        ("PHPhotosErrorDomain", -1, .unreadableFile), ("PHPhotosErrorDomain", 3114, .unreadableFile),
        ("PHPhotosErrorDomain", 3143, .unreadableFile), (NSCocoaErrorDomain, 640, .diskFull),
        (NSURLErrorDomain, -1009, .unreachable), (NSURLErrorDomain, -999, .cancelled),
        (NSPOSIXErrorDomain, 28, .diskFull), ("another", 1, .unreadableFile),
    ])
    func `an export's error says whether it is about this photo`(
        domain: String, number: Int, code: CloakroomError.Code
    ) {
        let error = NSError(domain: domain, code: number)
        let outer = NSError(domain: "CloudPhotoLibraryErrorDomain", code: 1, userInfo: [NSUnderlyingErrorKey: error])
        #expect(CloakroomError(exporting: "a.heic", error).code == code)
        #expect(CloakroomError(exporting: "a.heic", outer).code == code)
        #expect(CloakroomError(exporting: "a.heic", CancellationError()).code == .cancelled)
    }
}
