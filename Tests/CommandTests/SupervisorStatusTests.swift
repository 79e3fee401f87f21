import CloakroomFastCGI
import Foundation
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

struct SupervisorStatusTests {
    private static let workers: [SupervisorStatus.Worker] = [
        .init(listen: "unix:/w-1.sock", process: 12), .init(listen: "unix:/w-2.sock", process: nil),
    ]
    private static let partlyReloaded: [SupervisorStatus.Worker] = [
        .init(listen: "unix:/w-1.sock", process: 12, isOfFailedReload: true),
        .init(listen: "unix:/w-2.sock", process: 13),
    ]
    private static let otherWorkers: [SupervisorStatus.Worker] = [
        .init(listen: "unix:/w-1.sock", process: 12),
        .init(listen: "unix:/w-2.sock", process: 13, runsAnother: true),
    ]

    @Test func `is read from its file as it was written`() throws {
        let folder = try TemporaryFolder()
        let listen = try ListenPattern("unix:\(folder["w-%d.sock"])")
        let own = try SupervisorFolder(listen: listen, isNew: true)
        let status = SupervisorStatus(
            process: 7, program: "/bin/c", isOutdated: true,
            workers: Self.workers + Self.otherWorkers + Self.partlyReloaded)
        #expect(status.write(in: own))
        let text = try Data(contentsOf: URL(fileURLWithPath: SupervisorFolder.statusFile(listen: listen)))
        #expect(SupervisorStatus(Array(text)) == status)
        // Its successor after SIGUSR2 keeps what is there, another supervisor does not.
        _ = try SupervisorFolder(listen: listen, isNew: false)
        #expect(FileManager.default.fileExists(atPath: own.statusFile))
        let others = try SupervisorFolder(listen: listen, isNew: true)
        #expect(!FileManager.default.fileExists(atPath: own.statusFile))
        others.remove()
        #expect(!FileManager.default.fileExists(atPath: own.path))
    }

    @Test func `the folder of a supervisor that took over is left alone by the one before it`() throws {
        let folder = try TemporaryFolder()
        let listen = try ListenPattern("unix:\(folder["w-%d.sock"])")
        let former = try SupervisorFolder(listen: listen, isNew: true)
        let current = try SupervisorFolder(listen: listen, isNew: true)
        let status = SupervisorStatus(process: 8, program: "/bin/c", isOutdated: false, workers: Self.workers)
        #expect(status.write(in: current))
        let stopping = SupervisorStatus(process: 7, program: "/bin/c", isOutdated: false, workers: [])
        #expect(!stopping.write(in: former))
        #expect(former.descriptor == nil)
        former.remove()
        let text = try Data(contentsOf: URL(fileURLWithPath: SupervisorFolder.statusFile(listen: listen)))
        #expect(SupervisorStatus(Array(text)) == status)
    }

    @Test func `a supervisor that runs its program anew leaves alone what another took over`() throws {
        let folder = try TemporaryFolder()
        let listen = try ListenPattern("unix:\(folder["w-%d.sock"])")
        let current = try SupervisorFolder(listen: listen, isNew: true)
        let other = SupervisorStatus(process: getppid(), program: "/bin/c", isOutdated: false, workers: Self.workers)
        #expect(other.write(in: current))
        let former = try SupervisorFolder(listen: listen, isNew: false)
        #expect(!former.isInPlace && former.descriptor == nil)
        former.remove()
        let text = try Data(contentsOf: URL(fileURLWithPath: SupervisorFolder.statusFile(listen: listen)))
        #expect(SupervisorStatus(Array(text)) == other)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["w-N.sock.supervisor"])
        // Its own status, as it wrote it before.
        let own = SupervisorStatus(process: getpid(), program: "/bin/c", isOutdated: false, workers: [])
        #expect(own.write(in: current))
        #expect(try SupervisorFolder(listen: listen, isNew: false).isInPlace)
    }

    @Test func `a folder that a killed process of the same number left is no obstacle`() throws {
        let folder = try TemporaryFolder()
        let listen = try ListenPattern("unix:\(folder["w-%d.sock"])")
        let former = try SupervisorFolder(listen: listen, isNew: true)
        try "row".write(toFile: "\(former.path)/row", atomically: false, encoding: .utf8)
        #expect(mkdir("\(former.path).\(getpid())", 0o700) == 0)
        let current = try SupervisorFolder(listen: listen, isNew: true)
        #expect(current.isInPlace && !former.isInPlace)
        #expect(try FileManager.default.contentsOfDirectory(atPath: current.path).isEmpty)
    }

    @Test func `a folder that was removed is made anew for the next worker`() throws {
        let folder = try TemporaryFolder()
        let own = try SupervisorFolder(listen: ListenPattern("unix:\(folder["w-%d.sock"])"), isNew: true)
        try FileManager.default.removeItem(atPath: own.path)
        let descriptor = try #require(own.descriptor)
        #expect(own.lacksStatus)
        try "row".write(toFile: "/proc/self/fd/\(descriptor)/row", atomically: false, encoding: .utf8)
        #expect(FileManager.default.fileExists(atPath: "\(own.path)/row"))
    }

    @Test func `a folder that others write to, or a link, is none`() throws {
        let folder = try TemporaryFolder()
        let path = folder["w-N.sock.supervisor"]
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        chmod(path, 0o777)
        #expect(throws: SupervisorFolder.FolderError.self) {
            try SupervisorFolder(listen: ListenPattern("unix:\(folder["w-%d.sock"])"), isNew: true)
        }
        let target = folder["elsewhere"]
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder["l-N.sock.supervisor"], withDestinationPath: target)
        #expect(throws: SupervisorFolder.FolderError.self) {
            try SupervisorFolder(listen: ListenPattern("unix:\(folder["l-%d.sock"])"), isNew: true)
        }
    }

    @Test func `is good when all workers are up, and all run the program that is installed`() {
        func isGood(_ workers: [SupervisorStatus.Worker], isOutdated: Bool = false) -> Bool {
            SupervisorStatus(process: 7, program: "/bin/c", isOutdated: isOutdated, workers: workers).isGood
        }
        let up = SupervisorStatus.Worker(listen: "unix:/w-1.sock", process: 12)
        #expect(isGood([up]))
        #expect(!isGood([up], isOutdated: true))
        #expect(!isGood(Self.workers))
        #expect(!isGood(Self.otherWorkers))
        #expect(!isGood(Self.partlyReloaded))
    }

    @Test func `says which workers have the settings of a reload that failed at others`() {
        let status = SupervisorStatus(
            process: 7, program: "/bin/c", isOutdated: false, workers: Self.partlyReloaded)
        #expect(status.text.contains("process 12, unix:/w-1.sock, with the settings of a reload that failed\n"))
        #expect(status.text.contains("process 13, unix:/w-2.sock\n") && status.text.hasSuffix("kill -HUP 7"))
        #expect(
            status.summary
                == "2 of 2 workers run; the last reload failed, and some have its settings: kill -HUP 7")
    }

    @Test func `advises a reload for workers of another program, once the supervisor runs the one installed`() {
        func status(_ isOutdated: Bool) -> SupervisorStatus {
            SupervisorStatus(process: 7, program: "/bin/c", isOutdated: isOutdated, workers: Self.otherWorkers)
        }
        #expect(status(false).text.contains("kill -HUP 7") && !status(false).text.contains("kill -USR2"))
        #expect(status(true).text.contains("kill -USR2 7") && !status(true).text.contains("kill -HUP"))
        #expect(status(false).text.contains("process 13, unix:/w-2.sock, another program than the supervisor's"))
        #expect(
            status(false).summary == "2 of 2 workers run; workers run another program than the supervisor: kill -HUP 7")
    }

    /// What an earlier version wrote.
    @Test func `workers of which nothing else is told run the supervisor's program`() {
        let text = #"{"process": 7, "program": "/bin/c", "workers": [{"listen": "a", "process": 8}, {"listen": "b"}]}"#
        #expect(SupervisorStatus(Array(text.utf8))?.workers.map(\.runsAnother) == [false, false])
    }

    @Test func `says in a line what systemctl shows`() {
        func summary(_ isOutdated: Bool) -> String {
            SupervisorStatus(process: 7, program: "/bin/c", isOutdated: isOutdated, workers: Self.workers).summary
        }
        #expect(summary(false) == "1 of 2 workers run")
        #expect(summary(true) == "1 of 2 workers run; the supervisor runs the former program: kill -USR2 7")
    }
}
