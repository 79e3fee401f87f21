import CloakroomLoop
import CloakroomOperations
import CloakroomRedis
import CloakroomServer
import Synchronization

/// Reads the audit lines of a Redis stream, a page at a time.
enum AuditStreamReader {
    enum AuditStreamError: Error, CustomStringConvertible {
        case redis(String, RedisError)
        case noStream(String)

        var description: String {
            switch self {
            case .redis(let address, let error):
                "Redis at \(address): \(error.label); \(error.advice)"
            case .noStream(let key): "Redis has no stream \(key)"
            }
        }
    }

    private static let page = 1000

    static func read(_ name: String, settings: Settings, into verifier: inout AuditVerifier) throws {
        let box = Mutex<(verifier: AuditVerifier, failure: (any Error)?)>((verifier, nil))
        _ = LoopActor.run {
            do {
                let redis = try settings.redis.clientForPeople(atLeast: .seconds(5))
                defer { redis.close() }
                do throws(RedisError) {
                    try await pages(settings.redis.keyPrefix + name, redis) { line, place in
                        box.withLock { $0.verifier.verify(line, isTooLong: false, at: place) }
                    }
                } catch {
                    throw AuditStreamError.redis("\(settings.redis.servers)", error)
                }
                return 0
            } catch {
                box.withLock { $0.failure = error }
                return 1
            }
        }
        try box.withLock { box in
            verifier = box.verifier
            if let failure = box.failure { throw failure }
            if verifier.chains.isEmpty { throw AuditStreamError.noStream(settings.redis.keyPrefix + name) }
        }
    }

    @LoopActor
    private static func pages(
        _ key: String, _ redis: any RedisClient, _ take: ([UInt8], String) -> Void
    ) async throws(RedisError) {
        var total = 0
        if case .integer(let length) = try await redis.read(RedisCommand(["XLEN", key])) { total = length }
        let progress = ProgressLine(what: key, total: total)
        var (from, done) = ("-", 0)
        while true {
            let command = RedisCommand(["XRANGE", key, from, "+", "COUNT", String(page)])
            guard case .array(let entries) = try await redis.read(command), !entries.isEmpty else { break }
            for entry in entries {
                guard case .array(let parts) = entry, parts.count == 2, case .text(let id) = parts[0] else { continue }
                from = "(" + String(decoding: id, as: UTF8.self)
                guard case .array(let fields) = parts[1], fields.count == 2, case .text(let line) = fields[1] else {
                    continue
                }
                take(line, "\(key) \(from.dropFirst())")
            }
            done += entries.count
            progress.update(done)
        }
        progress.clear()
    }
}
