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

    /// Called with why Redis did not take lines.
    package var onFailure: (@LoopActor (RedisError) -> Void)?

    /// - Parameter maximumLength: about how many entries are kept.
    package init(redis: any RedisClient, key: String, maximumLength: Int) {
        self.redis = redis
        self.key = key
        self.maximumLength = maximumLength
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
            _ = try await redis.run(Self.script.call(keys: [key], arguments: [String(maximumLength)] + texts))
            return .kept
        } catch {
            onFailure?(error)
            switch error {
            case .unavailable, .refused, .tls: return .refused
            case .timeout, .interrupted: return .unknown
            }
        }
    }

    /// A script, so that it is all lines or none: what refuses a write refuses the first.
    static let script = RedisScript(
        text: """
            for index = 2, #ARGV do
              redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', '\(field)', ARGV[index])
            end
            return #ARGV - 1
            """)
}
