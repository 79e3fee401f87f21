#if os(Linux)
    import CloakroomKit
    import CloakroomTiers
    import Foundation
    import Testing

    /// What a thumbnail may cost, and what becomes of the process that makes it.
    @Suite(.serialized) struct VipsLimitTests {
        private let pictures: Pictures

        init() throws { pictures = try Pictures() }

        private func code(_ body: () async throws -> Thumbnail) async -> CloakroomError.Code? {
            do {
                _ = try await body()
                return nil
            } catch {
                return (error as? CloakroomError)?.code
            }
        }

        @Test func `a huge picture that is read line by line has a thumbnail`() async throws {
            let file = try pictures.write(HugePNG.bytes(size: 30_000), to: "huge.png")
            let thumbnail = try await VipsThumbnailer(limits: .init(time: .seconds(60), memory: 512 << 20))
                .thumbnail(of: file, maximumPixelSize: 256)
            #expect((thumbnail.width, thumbnail.height) == (256, 256))
        }

        @Test func `a picture that needs more memory than it may have has none`() async throws {
            try pictures.vips("black", "huge.png[interlace]", "10000", "10000")
            let file = pictures.file("huge.png")
            let small = VipsThumbnailer(limits: .init(memory: 220 << 20))
            let isRefused = await code { try await small.thumbnail(of: file, maximumPixelSize: 256) }
            #expect(isRefused == .unreadableFile)
            // The memory was what it lacked.
            #expect(try await VipsThumbnailer().thumbnail(of: file, maximumPixelSize: 256).width == 256)
        }

        @Test func `a program that takes too long is ended`() async throws {
            let number = pictures.file("process")
            // Once: with a second attempt there were two numbers.
            let program = try pictures.program("echo $$ >>'\(number.path)'\nexec sleep 600")
            let thumbnailer = VipsThumbnailer(program: program, limits: .init(time: .milliseconds(500)))
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            #expect(await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) } == .timedOut)
            try expectEnded(number)
        }

        @Test func `a program whose caller is cancelled is ended`() async throws {
            let number = pictures.file("process")
            // The name appears when the number is in it.
            let program = try pictures.program(
                "echo $$ >'\(number.path).new'; mv '\(number.path).new' '\(number.path)'\nexec sleep 600")
            let thumbnailer = VipsThumbnailer(program: program, limits: .init(time: .seconds(300)))
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            let task = Task { await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) } }
            while !FileManager.default.fileExists(atPath: number.path) { try await Task.sleep(for: .milliseconds(5)) }
            task.cancel()
            #expect(await task.value == .cancelled)
            try expectEnded(number)
        }

        @Test func `a caller who is cancelled before starts no program`() async throws {
            let trace = pictures.file("trace")
            let program = try pictures.program("touch '\(trace.path)'")
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await code {
                    try await VipsThumbnailer(program: program).thumbnail(of: file, maximumPixelSize: 256)
                }
            }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(!FileManager.default.fileExists(atPath: trace.path))
        }

        private func expectEnded(_ file: URL) throws {
            let text = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
            let process = try #require(Int32(text))
            #expect(kill(process, 0) == -1 && errno == ESRCH)
        }

        @Test func `no more programs run at once than it may start`() async throws {
            let running = pictures.file("running")
            try FileManager.default.createDirectory(at: running, withIntermediateDirectories: true)
            let counts = pictures.file("counts")
            let program = try pictures.program(
                """
                touch '\(running.path)'/$$
                ls '\(running.path)' | wc -l >>'\(counts.path)'
                sleep 0.05
                rm '\(running.path)'/$$
                """)
            let thumbnailer = VipsThumbnailer(program: program, concurrency: 2)
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { _ = try? await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) }
                }
            }
            let seen = try String(contentsOf: counts, encoding: .utf8).split(whereSeparator: \.isWhitespace)
                .compactMap { Int($0) }
            // What fails is attempted once more without the profile.
            #expect(seen.count == 16)
            #expect(seen.max() == 2)
        }

        @Test func `the program sees a file without a name, for its user alone, and little else`() async throws {
            let trace = pictures.file("trace")
            let program = try pictures.program(
                """
                exec 3>'\(trace.path)'
                exec 4>&1
                stat -L -c '%a %h' /proc/$$/fd/4 >&3
                { ulimit -v; ulimit -c; ulimit -t; ulimit -f; pwd; env | grep -c HOME; } >&3
                env | grep -e VIPS -e MALLOC -e LC_ | sort >&3
                """)
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            _ = try? await VipsThumbnailer(program: program, limits: .init(time: .seconds(9), memory: 1 << 28))
                .thumbnail(of: file, maximumPixelSize: 256)
            let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
            #expect(lines.prefix(7) == ["600 0", "262144", "0", "19", "\((1 << 20) / 512)", "/", "0"])
            #expect(
                lines.dropFirst(7) == [
                    "LC_ALL=C.UTF-8", "MALLOC_ARENA_MAX=1", "VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=1",
                    "VIPS_DISC_THRESHOLD=268435456", "VIPS_WARNING=0",
                ])
        }

        @Test(arguments: ["echo this is no picture", "exit 1", "kill -9 $$", "printf '\\377\\330\\377\\331'", "yes"])
        func `whatever the program writes, only a JPEG is a thumbnail`(lines: String) async throws {
            let thumbnailer = VipsThumbnailer(program: try pictures.program(lines))
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            #expect(await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) } == .unreadableFile)
        }

        /// A JPEG by its header, and zeros.
        private func jpeg(width: Int, height: Int, zeros: Int) -> String {
            let size = [height / 256, height % 256, width / 256, width % 256].map { "\\" + String($0, radix: 8) }
                .joined()
            return "printf '\\377\\330\\377\\300\\0\\21\\10\(size)\\3'\nhead -c \(zeros) /dev/zero"
        }

        @Test func `a thumbnail that stays too large, or is of more pixels than wanted, is none`() async throws {
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            for (width, zeros) in [(1, Thumbnail.maximumBytes), (257, 9)] {
                let thumbnailer = VipsThumbnailer(
                    program: try pictures.program(jpeg(width: width, height: 1, zeros: zeros)))
                let code = await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) }
                #expect(code == .unreadableFile)
            }
            let good = VipsThumbnailer(program: try pictures.program(jpeg(width: 256, height: 1, zeros: 9)))
            #expect(try await good.thumbnail(of: file, maximumPixelSize: 256).width == 256)
        }

        @Test(arguments: ["", "%PDF-1.7", "P3 1 1 255 0 0 0", "<svg/>"])
        func `no program is started for what is no photo`(content: String) async throws {
            let trace = pictures.file("trace")
            let thumbnailer = VipsThumbnailer(program: try pictures.program("touch '\(trace.path)'"))
            let file = try pictures.write(content.utf8, to: "photo.jpg")
            #expect(await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) } == .unreadableFile)
            #expect(!FileManager.default.fileExists(atPath: trace.path))
        }

        @Test func `at least one program runs, however few are allowed`() async throws {
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            let thumbnailer = VipsThumbnailer(concurrency: 0)
            #expect(try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256).width == 9)
        }

        @Test func `a program that may not be run is as one that is not there`() async throws {
            let program = try pictures.write("#!/bin/sh\n".utf8, to: "program")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: program.path)
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            let thumbnailer = VipsThumbnailer(program: program)
            #expect(await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) } == .unavailable)
        }

        @Test func `without the program the error says so`() async throws {
            let thumbnailer = VipsThumbnailer(program: pictures.file("absent"))
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            #expect(await code { try await thumbnailer.thumbnail(of: file, maximumPixelSize: 256) } == .unavailable)
        }
    }
#endif
