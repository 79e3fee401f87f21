import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 14: descriptors exhausted, memory limit hit.
    @Suite struct Exhaustion {
        @Test func `without free descriptors renewals are 503, without spinning, and pass when there are some again`()
            throws
        {
            let upstream = try SlowUpstream()
            defer { upstream.stop() }
            let options = Stack.Options(shell: #"ulimit -n 64; exec "$@""#) {
                $0["aws.s3Endpoint"] = upstream.url
                $0["aws.timeoutMilliseconds"] = 200
                $0["limits.renew.requests"] = 1000
            }
            try Stack.run("no-sockets", options) { stack in
                let worker = try #require(stack.server)
                let early = try FastCGIClient(path: stack.socket())
                let batch = TestRequest.renew(Tokens.fresh(), (0..<20).map { "k\($0)" })
                #expect(try early.ask(.health).status == 200)
                var crowd = try (0..<200).map { _ in try FastCGIClient(path: stack.socket()) }
                try wait(for: "no free descriptor", within: .seconds(2)) {
                    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.pid)/fd")) ?? []).count == 64
                }
                let before = ProcessTable.cpuTime(worker.pid)
                for _ in 0..<3 {
                    let refused = try early.ask(batch)
                    #expect(refused.status == 503 && refused.fields["retry-after"] == "5")
                    usleep(300_000)
                }
                // One or two sockets may come free; nobody answers on them.
                #expect(upstream.arrived < 30)
                #expect(ProcessTable.cpuTime(worker.pid) - before < 400)
                crowd.removeAll()
                upstream.release()
                try wait(for: "renewing again", within: .seconds(3)) {
                    try early.ask(batch).json["failed"] as? Int == 20
                }
            }
        }

        @Test func `a worker that may have no more memory is replaced, and the other goes on`() throws {
            let options = Stack.Options(workers: 2) { $0["server.maximumBodyBytes"] = 16_777_216 }
            try Stack.run("no-memory", options) { stack in
                let victim = try #require(stack.workers.first)
                try Self.limitMemory(of: victim)
                // Which of the sockets is the victim's, nobody tells: both get requests that are never whole.
                let part = FastCGIClient.record(5, 1, [UInt8](repeating: 0x20, count: 65_528))
                let peers = try (0..<8).map { try FastCGIClient(path: stack.socket($0 % 2 + 1)) }
                for peer in peers {
                    try peer.socket.send(
                        FastCGIClient.begin()
                            + FastCGIClient.record(4, 1, FastCGIClient.parameters(.renew("t", body: " ")))
                            + FastCGIClient.record(4, 1, []))
                }
                for _ in 0..<200 where ProcessTable.isAlive(victim) {
                    for peer in peers { try? peer.socket.send(part) }
                }
                try wait(for: "the new worker", within: .seconds(3)) {
                    stack.workers.count == 2 && !stack.workers.contains(victim)
                }
                for number in 1...2 {
                    try wait(for: "worker \(number)", within: .seconds(2)) {
                        (try? stack.ask(.health, worker: number))?.status == 200
                    }
                }
                #expect(stack.logLines("worker ended").count == 1)
                // What Swift writes of a crash is no log line.
                try FileManager.default.removeItem(atPath: stack.logFile)
            }
        }

        /// Eight megabytes more than it has.
        private static func limitMemory(of process: pid_t) throws {
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmSize:") })
            let kilobytes = try #require(
                line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
            let folder = try RunFolder.make("prlimit")
            let program = try RunningProgram(
                "prlimit", ["--pid", String(process), "--as=\((kilobytes + 8192) * 1024)"],
                output: "\(folder)/output")
            #expect(try program.waitForEnd() == 0)
        }
    }
}
