package import CloakroomLoop
package import CloakroomRedis

/// Audit lines as entries of a Redis stream, each in the field `line`; the oldest are trimmed.
@LoopActor
package final class AuditStream {
    static let field = "line"
    /// Lines in one call, so that no call keeps Redis long.
    static let linesAtOnce = 256

    private let redis: any RedisClient
    private let key: String
    private let maximumLength: Int
    private let metrics: Metrics
    private let log: Log
    /// The log has it once a process: a full stream is trimmed with nearly every call.
    private var hasTrimmed = false
    private var isCounting = true

    /// Called with why Redis did not take lines.
    package var onFailure: (@LoopActor (RedisError) -> Void)?

    /// - Parameter maximumLength: about how many entries are kept.
    package init(redis: any RedisClient, key: String, maximumLength: Int, metrics: Metrics, log: Log) {
        self.redis = redis
        self.key = key
        self.maximumLength = maximumLength
        self.metrics = metrics
        self.log = log
    }

    enum Outcome {
        case kept
        /// Not one of them.
        case refused
        /// All of them or none: the connection was lost before the response.
        case unknown
    }

    func add(_ lines: [ArraySlice<UInt8>]) async -> Outcome {
        let texts = lines.map { String(decoding: $0, as: UTF8.self) }
        do throws(RedisError) {
            let reply = try await redis.run(
                Self.script.call(keys: [key], arguments: [String(maximumLength)] + texts))
            count(reply)
            return .kept
        } catch {
            onFailure?(error)
            switch error {
            case .unavailable, .refused, .tls: return .refused
            case .timeout, .interrupted: return .unknown
            }
        }
    }

    private func count(_ reply: RedisReply) {
        guard case .integer(let trimmed) = reply else {
            if isCounting { log.warning("trimmed audit lines are not counted: Redis refuses XLEN") }
            isCounting = false
            return
        }
        isCounting = true
        guard trimmed > 0 else { return }
        metrics.trimmedAuditLines(trimmed)
        if !hasTrimmed { log.warning("audit.stream is full: its oldest lines are trimmed for new ones") }
        hasTrimmed = true
    }

    /// A script, so that it is all lines or none: what refuses a write refuses the first.
    ///
    /// Gives how many others were trimmed for them, or null without the right to XLEN: that is no reason to issue nothing.
    static let script = RedisScript(
        text: """
            local before = redis.pcall('XLEN', KEYS[1])
            for index = 2, #ARGV do
              redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', '\(field)', ARGV[index])
            end
            if type(before) ~= 'number' then return false end
            return before + #ARGV - 1 - redis.call('XLEN', KEYS[1])
            """)
}
