import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Glibc
import Testing

@testable import CloakroomCommand

@Suite(.onLoop)
struct WorkerProgramTests {
    private static func install(status: Int, at path: String) throws {
        try "#!/bin/sh\nexit $(($1 + \(status)))\n".write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o755)
    }

    /// - Returns: the exit status.
    private static func run(_ program: WorkerProgram) throws -> Int32 {
        let process = try program.spawn(["program", "10"], descriptors: [2])
        var status: Int32 = 0
        #expect(waitpid(process, &status, 0) == process)
        return status >> 8
    }

    @Test @LoopActor func `runs its file also when another one lies at the path, or none`() throws {
        let folder = try TemporaryFolder()
        let path = folder["program"]
        try Self.install(status: 1, at: path)
        let program = WorkerProgram(path: path, source: path)
        #expect(try Self.run(program) == 11)
        try Self.install(status: 2, at: path)
        #expect(try Self.run(program) == 11)
        #expect(try Self.run(WorkerProgram(path: path, source: path)) == 12)
        try FileManager.default.removeItem(atPath: path)
        #expect(try Self.run(program) == 11)
    }

    @Test @LoopActor func `runs what its source leads to where another one lies at the path`() throws {
        let folder = try TemporaryFolder()
        let (path, own) = (folder["program"], folder["own"])
        try Self.install(status: 1, at: own)
        try Self.install(status: 2, at: path)
        #expect(try Self.run(WorkerProgram(path: path, source: own)) == 11)
    }

    @Test @LoopActor func `cannot be started where there was no file, until there is one`() throws {
        let folder = try TemporaryFolder()
        let path = folder["program"]
        let program = WorkerProgram(path: path, source: path)
        #expect(throws: SystemError(code: ENOENT)) { try Self.run(program) }
        try Self.install(status: 1, at: path)
        #expect(try Self.run(program) == 11)
    }
}
