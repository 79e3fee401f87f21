import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct ReadinessTests {
    @LoopActor private func text(_ readiness: Readiness) -> String {
        let response = readiness.answer.response
        return "\(response.status) \(String(decoding: response.body, as: UTF8.self))"
    }

    @Test @LoopActor func `tells what each dependency said last`() async throws {
        let fault = Mutex<String?>("refused \"here\"")
        let redis = Mutex<String?>("no connection")
        let asked = Barrier()
        let readiness = Readiness(
            localChecks: [("redis", { redis.withLock { $0 } })],
            probes: [
                ("s3", { fault.withLock { $0 } }),
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
                == #"503 {"ready":false,"redis":"no connection","s3":"not asked yet","last":"not asked yet"}"#)
        redis.withLock { $0 = nil }
        let log = Log(sink: nil, level: .debug)
        let watching = LoopActor.spawn { await readiness.watch(log: log) }
        defer { watching.cancel() }
        await asked.gathers(1)
        #expect(text(readiness) == #"503 {"ready":false,"redis":"ok","s3":"refused \"here\"","last":"not asked yet"}"#)
        #expect(!readiness.isReady)
        fault.withLock { $0 = nil }
        asked.open()
        try await until {
            readiness.isReady
        } pause: {
            try await LoopActor.sleep(for: .milliseconds(5))
        }
        #expect(text(readiness) == #"200 {"ready":true,"redis":"ok","s3":"ok","last":"ok"}"#)
        // Known without asking, so told at once.
        redis.withLock { $0 = "no connection" }
        #expect(text(readiness) == #"503 {"ready":false,"redis":"no connection","s3":"ok","last":"ok"}"#)
    }

    @Test @LoopActor func `is ready without dependencies`() {
        #expect(text(Readiness(localChecks: [], probes: [])) == #"200 {"ready":true}"#)
    }
}
