import Foundation

/// For who sits in another process: seeding, scripting and asking by HTTP, under a path that no bucket can have.
///
/// - `PUT /_scripted/objects?prefix=a&count=100&age=864000&missing=10`: keys `a000000.bin`…; every tenth is left out.
/// - `PUT /_scripted/mix?share=0.05&seed=7`, with `&faults=slowDown,reset` for some; `DELETE` ends it.
/// - `GET /_scripted/truth?prefix=a&after=1700000000`: one line for each key that is there, with the number of its
///   self-copies and whether it was modified after that time: `a000001.bin 1 1`.
/// - `GET /_scripted/counts`: requests by operation and injected faults, as JSON; `DELETE` begins anew.
struct ControlRequest {
    let request: S3Request

    init?(_ request: S3Request) {
        guard request.bucket == "_scripted" else { return nil }
        self.request = request
    }

    func answer(for server: ScriptedS3) -> S3Reply {
        switch (request.method, request.key ?? "") {
        case ("PUT", "objects"): putObjects(server)
        case ("PUT", "mix"): putMix(server)
        case ("DELETE", "mix"):
            server.clearFaults()
            return text("")
        case ("GET", "truth"): return truth(server)
        case ("GET", "counts"): return counts(server)
        case ("DELETE", "counts"):
            server.forgetRequests()
            return text("")
        default: return S3Reply(404)
        }
        return text("")
    }

    private func number(_ name: String) -> Double? { request.parameter(name).flatMap { Double($0) } }

    private func putObjects(_ server: ScriptedS3) {
        let missing = Int(number("missing") ?? 0)
        var seed = ScriptedS3.Seed()
        seed.age = number("age") ?? seed.age
        for index in 0..<Int(number("count") ?? 0) where missing == 0 || index % missing != missing - 1 {
            server.put(ScriptedS3.key(request.parameter("prefix") ?? "", index), seed)
        }
    }

    private func putMix(_ server: ScriptedS3) {
        let named = request.parameter("faults")?.split(separator: ",").compactMap { S3Fault(rawValue: String($0)) }
        server.mix(
            FaultMix(
                share: number("share") ?? 0, seed: UInt64(number("seed") ?? 1), faults: named ?? S3Fault.allCases))
    }

    private func truth(_ server: ScriptedS3) -> S3Reply {
        let prefix = request.parameter("prefix") ?? ""
        let after = number("after") ?? 0
        var lines = ""
        for key in server.keys() where key.hasPrefix(prefix) {
            let truth = server.truth(key)
            lines += "\(key) \(truth.selfCopies) \(truth.lastModified >= after ? 1 : 0)\n"
        }
        return text(lines)
    }

    private func counts(_ server: ScriptedS3) -> S3Reply {
        let operations = S3Operation.allCases.map { "\"\($0.rawValue)\":\(server.count($0))" }
        let faults = server.injectedFaults.map { "\"\($0.key.rawValue)\":\($0.value)" }.sorted()
        return text(
            "{\"operations\":{\(operations.joined(separator: ","))},\"faults\":{\(faults.joined(separator: ","))}}")
    }

    private func text(_ text: String) -> S3Reply {
        S3Reply(200, fields: [.init(name: "Content-Type", value: "text/plain")], body: Array(text.utf8))
    }
}

extension ScriptedS3 {
    /// The key with this number among seeded ones.
    package static func key(_ prefix: String, _ number: Int) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".bin"
    }
}
