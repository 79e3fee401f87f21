/// What one request has waited for so far, in nanoseconds.
struct RequestWaits {
    /// Of an issuer.
    var keys: UInt64 = 0
    /// The limit and the user's record, and before a call of STS the limit of those.
    var redis: UInt64 = 0
    var audit: UInt64 = 0
    /// With all attempts, the pauses between them, and the wait for a call that another request had begun.
    private var sts: UInt64 = 0
    private var s3: UInt64 = 0

    mutating func add(_ nanoseconds: UInt64, to upstream: UpstreamLabel) {
        switch upstream {
        case .sts: sts += nanoseconds
        case .s3: s3 += nanoseconds
        }
    }

    /// Within a wait for STS, the limit of such calls was counted in Redis.
    mutating func counted(_ nanoseconds: UInt64) {
        redis += nanoseconds
        sts -= min(sts, nanoseconds)
    }

    /// The members of a slow request's line; those that it did not wait for are left out.
    func write(to line: inout LogLine) {
        line.flag("slow")
        if redis > 0 { line.integer("redisMilliseconds", Self.milliseconds(redis)) }
        if sts > 0 { line.integer("stsMilliseconds", Self.milliseconds(sts)) }
        if s3 > 0 { line.integer("s3Milliseconds", Self.milliseconds(s3)) }
        if keys > 0 { line.integer("keysMilliseconds", Self.milliseconds(keys)) }
        if audit > 0 { line.integer("auditMilliseconds", Self.milliseconds(audit)) }
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> Int { Int(nanoseconds / 1_000_000) }
}
