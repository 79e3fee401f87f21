import Foundation
import Glibc
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

/// What workers are started with, during a reload and after it.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct WorkerLauncherTests {
    @Test @LoopActor func `in place of a worker that crashes comes one with the settings of the last reload`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp + "\n# first")
        let slot = bench.slot
        slot.start()
        try await bench.look { slot.published != nil }
        try bench.write(SlotBench.comesUp + "\n# second")
        #expect(try await bench.settings(of: bench.started(1)).hasSuffix("# first"))
        for isDone in [false, true] {
            bench.launcher.beginReload(settings: bench.settings())
            slot.replace()
            let replacement = try await bench.started(isDone ? 4 : 2)
            try await bench.look { slot.replacement == .done }
            #expect(try bench.settings(of: replacement).hasSuffix("# second"))
            bench.launcher.endReload(isDone: isDone)
            kill(replacement, SIGKILL)
            _ = try await bench.end(of: replacement)
            // Another program lies at the path, which a reload that failed has not taken.
            try await bench.look { slot.published != nil && slot.published?.process != replacement }
            let next = try await bench.started(isDone ? 5 : 3)
            #expect(try bench.settings(of: next).hasSuffix(isDone ? "# second" : "# first"))
        }
    }

    @Test @LoopActor func `a worker that ends in a reload is followed by one with the same settings`() async throws {
        let bench = try SlotBench(SlotBench.comesUp + "\n# first")
        let slot = bench.slot
        slot.start()
        try await bench.look { slot.published != nil }
        try bench.write(SlotBench.comesUp + "\n# second")
        bench.launcher.beginReload(settings: bench.settings())
        // The reload has not come to its place yet.
        #expect(try await bench.settingsAfterCrash().hasSuffix("# first"))
        slot.replace()
        try await bench.look { slot.replacement == .done }
        let replacement = try #require(slot.published).process
        #expect(try bench.settings(of: replacement).hasSuffix("# second"))
        // Others are still to be replaced.
        #expect(try await bench.settingsAfterCrash().hasSuffix("# second"))
        bench.launcher.endReload(isDone: false)
        #expect(try await bench.settingsAfterCrash().hasSuffix("# first"))
    }

    @Test @LoopActor func `a program that lies at the path without a reload that succeeded is run by no successor`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp)
        let slot = bench.slot
        let fails = #"echo $$ >> "$socket.started"; exit 3"#
        slot.start()
        try await bench.look { slot.published != nil }
        try bench.install(fails)
        _ = try await bench.settingsAfterCrash()

        bench.launcher.beginReload(settings: bench.settings())
        slot.replace()
        #expect(try await bench.end(of: try await bench.started(3)) == .exited(status: 3))
        #expect(slot.replacement == .failed)
        bench.launcher.endReload(isDone: false)
        _ = try await bench.settingsAfterCrash()

        // One that was reloaded goes on to be run when another lies in its place.
        try bench.install(#"echo $$ >> "$socket.second"; . "$8""#)
        bench.launcher.beginReload(settings: bench.settings())
        slot.replace()
        try await bench.look { slot.replacement == .done }
        bench.launcher.endReload(isDone: true)
        try bench.install(fails)
        _ = try await bench.settingsAfterCrash()
        let successor = try #require(slot.published).process
        let second = try String(contentsOfFile: "\(bench.socket).second", encoding: .utf8)
        #expect(second.split(separator: "\n").last == "\(successor)")
    }
}
