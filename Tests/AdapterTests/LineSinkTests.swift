import Foundation
import Loop
import Support
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct LineSinkTests {
    @Test @LoopActor func `writes whole lines in their order, whoever waits for them`() async throws {
        let folder = try TemporaryFolder()
        let sink = try LineSink(path: folder["log"])
        let tasks = (0..<1000).map { number in LoopActor.spawn { await sink.write(Array("line \(number)".utf8)) } }
        for task in tasks { #expect(await task.value) }
        let text = try String(contentsOfFile: folder["log"], encoding: .utf8)
        #expect(text == (0..<1000).map { "line \($0)\n" }.joined())
    }

    @Test @LoopActor func `appends to what is there`() async throws {
        let folder = try TemporaryFolder()
        for word in ["one", "two"] {
            let sink = try LineSink(path: folder["log"])
            #expect(await sink.write(Array(word.utf8)))
        }
        #expect(try String(contentsOfFile: folder["log"], encoding: .utf8) == "one\ntwo\n")
    }

    @Test @LoopActor func `says so when the disk is full`() async throws {
        let sink = try LineSink(path: "/dev/full")
        #expect(await sink.write(Array("lost".utf8)) == false)
        #expect(await sink.write(Array("lost too".utf8)) == false)
    }

    @Test @LoopActor func `refuses a path that cannot be written`() {
        #expect(throws: SystemError(code: ENOENT)) { try LineSink(path: "/nowhere/log") }
    }

    @Test @LoopActor func `says so when nobody reads any more`() async throws {
        // As the worker does.
        signal(SIGPIPE, SIG_IGN)
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe"], 0o600) == 0)
        let reader = open(folder["pipe"], O_RDONLY | O_NONBLOCK)
        let sink = try LineSink(path: folder["pipe"])
        #expect(await sink.write(Array("heard".utf8)))
        close(reader)
        #expect(await sink.write(Array("unheard".utf8)) == false)
    }

    @Test @LoopActor func `never waits for a slow reader, and starts a new line after half a one`() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe"], 0o600) == 0)
        let reader = open(folder["pipe"], O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let sink = try LineSink(path: folder["pipe"])
        // A pipe holds 64 KiB.
        #expect(await sink.write([UInt8](repeating: UInt8(ascii: "x"), count: 100_000)) == false)
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        let count = read(reader, &buffer, buffer.count)
        #expect(count > 0 && count < 100_000)
        #expect(await sink.write(Array("whole".utf8)))
        let next = read(reader, &buffer, buffer.count)
        #expect(String(decoding: buffer[..<max(0, next)], as: UTF8.self) == "\nwhole\n")
    }
}
