import Loop
import Support
import Synchronization
import Testing

@testable import Service

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct ReadinessTests {
    @LoopActor private func text(_ readiness: Readiness) -> String {
        let response = readiness.answer.response
        return "\(response.status) \(String(decoding: response.body, as: UTF8.self))"
    }

    @Test @LoopActor func `tells what each dependency said last`() async throws {
        let fault = Mutex<String?>("refused \"here\"")
        let asked = Barrier()
        let readiness = Readiness([
            ("redis", { nil }), ("s3", { fault.withLock { $0 } }),
            (
                "last",
                {
                    await asked.wait()
                    return nil
                }
            ),
        ])
        #expect(
            text(readiness)
                == #"503 {"ready":false,"redis":"not asked yet","s3":"not asked yet","last":"not asked yet"}"#)
        let log = Log(sink: nil, level: .debug)
        let watching = LoopActor.spawn { await readiness.watch(log: log) }
        defer { watching.cancel() }
        await asked.gathers(1)
        #expect(text(readiness) == #"503 {"ready":false,"redis":"ok","s3":"refused \"here\"","last":"not asked yet"}"#)
        #expect(!readiness.isReady)
        fault.withLock { $0 = nil }
        asked.open()
        while !readiness.isReady { try await LoopActor.sleep(for: .milliseconds(5)) }
        #expect(text(readiness) == #"200 {"ready":true,"redis":"ok","s3":"ok","last":"ok"}"#)
    }

    @Test @LoopActor func `is ready without dependencies`() { #expect(text(Readiness([])) == #"200 {"ready":true}"#) }
}
