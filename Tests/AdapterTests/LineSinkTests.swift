import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

extension LineSink {
    fileprivate func write(_ lines: [[UInt8]]) -> Int {
        var (text, ends): ([UInt8], [Int]) = ([], [])
        for line in lines {
            text += line + [UInt8(ascii: "\n")]
            ends.append(text.count)
        }
        return write(text, ends: ends)
    }
}

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct LineSinkTests {
    @Test @LoopActor func `writes whole lines in their order, at once or at the turn's end`() throws {
        let folder = try TemporaryFolder()
        let sink = try LineSink(path: folder["log"])
        for number in 0..<500 { sink.append(Array("line \(number)".utf8)) }
        #expect(sink.write((500..<1000).map { Array("line \($0)".utf8) }) == 500)
        let text = try String(contentsOfFile: folder["log"], encoding: .utf8)
        #expect(text == (0..<1000).map { "line \($0)\n" }.joined())
    }

    @Test @LoopActor func `appends to what is there`() async throws {
        let folder = try TemporaryFolder()
        for word in ["one", "two"] {
            let sink = try LineSink(path: folder["log"])
            #expect(sink.write([Array(word.utf8)]) == 1)
        }
        #expect(try String(contentsOfFile: folder["log"], encoding: .utf8) == "one\ntwo\n")
    }

    @Test(arguments: [("one", "one\ntwo\n"), ("one\n", "one\ntwo\n"), ("", "two\n")])
    @LoopActor func `begins a line of its own behind one that was cut`(before: String, after: String) async throws {
        let folder = try TemporaryFolder()
        try before.write(toFile: folder["log"], atomically: true, encoding: .utf8)
        #expect(try LineSink(path: folder["log"]).write([Array("two".utf8)]) == 1)
        #expect(try String(contentsOfFile: folder["log"], encoding: .utf8) == after)
    }

    /// As after a rotation whose reload was refused; the next one removes the file.
    @Test(arguments: [true, false])
    @LoopActor func `writes to the file at the path when the former one was moved or removed`(isMoved: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let sink = try LineSink(path: folder["log"], followsAfter: .milliseconds(100))
        sink.watch()
        #expect(sink.write([Array("one".utf8)]) == 1)
        if isMoved {
            try FileManager.default.moveItem(atPath: folder["log"], toPath: folder["log.1"])
            #expect(sink.write([Array("two".utf8)]) == 1)
            #expect(try String(contentsOfFile: folder["log.1"], encoding: .utf8) == "one\ntwo\n", "not at once")
        } else {
            try FileManager.default.removeItem(atPath: folder["log"])
        }
        #expect(
            await becomes {
                sink.write([Array("three".utf8)]) == 1 && FileManager.default.fileExists(atPath: folder["log"])
            })
        #expect(try String(contentsOfFile: folder["log"], encoding: .utf8) == "three\n")
    }

    /// What was moved may be compressed when the next line comes.
    @Test @LoopActor func `leaves a file that was moved, though there is no line meanwhile`() async throws {
        let folder = try TemporaryFolder()
        let sink = try LineSink(path: folder["log"], followsAfter: .milliseconds(100))
        sink.watch()
        #expect(sink.write([Array("one".utf8)]) == 1)
        try FileManager.default.moveItem(atPath: folder["log"], toPath: folder["log.1"])
        #expect(await becomes { FileManager.default.fileExists(atPath: folder["log"]) })
        #expect(sink.write([Array("two".utf8)]) == 1)
        #expect(try String(contentsOfFile: folder["log.1"], encoding: .utf8) == "one\n")
        #expect(try String(contentsOfFile: folder["log"], encoding: .utf8) == "two\n")
    }

    @Test @LoopActor func `writes no line to a file that was removed, and takes none without another`() throws {
        let folder = try TemporaryFolder()
        let inner = folder["inner"]
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        let sink = try LineSink(path: "\(inner)/log")
        #expect(sink.write([Array("one".utf8)]) == 1)
        try FileManager.default.removeItem(atPath: "\(inner)/log")
        #expect(sink.write([Array("two".utf8)]) == 1)
        #expect(try String(contentsOfFile: "\(inner)/log", encoding: .utf8) == "two\n")
        try FileManager.default.removeItem(atPath: inner)
        #expect(sink.write([Array("three".utf8)]) == 0)
    }

    @Test @LoopActor func `ends though it looks at its path`() throws {
        let folder = try TemporaryFolder()
        weak var former: LineSink?
        do {
            let sink = try LineSink(path: folder["log"])
            sink.watch()
            former = sink
        }
        #expect(former == nil)
    }

    @Test @LoopActor func `says so when the disk is full`() async throws {
        let sink = try LineSink(path: "/dev/full")
        #expect(sink.write([Array("lost".utf8)]) == 0)
        #expect(sink.write([Array("lost too".utf8)]) == 0)
    }

    @Test @LoopActor func `tells which of many lines were taken, and how many others were lost`() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe"], 0o600) == 0)
        let reader = open(folder["pipe"], O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let sink = try LineSink(path: folder["pipe"])
        var lost = 0
        sink.onLoss = { lost += $0 }
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 9999)
        #expect(sink.write([[UInt8]](repeating: line, count: 10)) == 6)
        for _ in 0..<3 { sink.append(line) }
        #expect(sink.write([line]) == 0)
        #expect(lost == 3)
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        let count = read(reader, &buffer, buffer.count)
        #expect(count == 65_536)
        #expect(sink.write([Array("whole".utf8)]) == 1)
        let next = read(reader, &buffer, buffer.count)
        #expect(String(decoding: buffer[..<max(0, next)], as: UTF8.self) == "\nwhole\n")
    }

    @Test @LoopActor func `counts only those lines as lost that were cut or not taken at all`() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe"], 0o600) == 0)
        let reader = open(folder["pipe"], O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let sink = try LineSink(path: folder["pipe"])
        var lost: [Int] = []
        sink.onLoss = { lost.append($0) }
        // A pipe holds 64 KiB: six lines and a part of the seventh.
        for _ in 0..<10 { sink.append([UInt8](repeating: UInt8(ascii: "x"), count: 9999)) }
        #expect(sink.write([]) == 0)
        #expect(lost == [4])
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        #expect(read(reader, &buffer, buffer.count) == 65_536)
        // Of what was cut only the line feed is missing, and the line counts as lost all the same.
        for _ in 0..<2 { sink.append([UInt8](repeating: UInt8(ascii: "x"), count: 65_535)) }
        #expect(sink.write([]) == 0)
        #expect(lost == [4, 2])
    }

    @Test @LoopActor func `keeps a line about lines that were lost`() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe"], 0o600) == 0)
        let reader = open(folder["pipe"], O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let sink = try LineSink(path: folder["pipe"])
        sink.onLoss = { sink.append(Array("lost \($0)".utf8)) }
        #expect(sink.write([[UInt8](repeating: UInt8(ascii: "x"), count: 65_535)]) == 1)
        sink.append(Array("a".utf8))
        #expect(sink.write([]) == 0)
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        #expect(read(reader, &buffer, buffer.count) == 65_536)
        #expect(sink.write([Array("whole".utf8)]) == 1)
        let next = read(reader, &buffer, buffer.count)
        #expect(String(decoding: buffer[..<max(0, next)], as: UTF8.self) == "lost 1\nwhole\n")
        sink.onLoss = nil
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
        #expect(sink.write([Array("heard".utf8)]) == 1)
        close(reader)
        #expect(sink.write([Array("unheard".utf8)]) == 0)
    }

    @Test @LoopActor func `never waits for a slow reader, and starts a new line after half a one`() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe"], 0o600) == 0)
        let reader = open(folder["pipe"], O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let sink = try LineSink(path: folder["pipe"])
        // A pipe holds 64 KiB.
        #expect(sink.write([[UInt8](repeating: UInt8(ascii: "x"), count: 100_000)]) == 0)
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        let count = read(reader, &buffer, buffer.count)
        #expect(count > 0 && count < 100_000)
        #expect(sink.write([Array("whole".utf8)]) == 1)
        let next = read(reader, &buffer, buffer.count)
        #expect(String(decoding: buffer[..<max(0, next)], as: UTF8.self) == "\nwhole\n")
    }
}
