package import CloakroomLoop
package import CloakroomRedis

/// Events as entries of a Redis stream, each in the field `event`.
///
/// Without a webhook the oldest are trimmed. With one, the stream is the queue of what is still to be posted: workers share
/// a consumer group, an entry is removed when it was delivered, and one that could not be is moved to a stream of dead
/// events. The braces keep both keys in one slot of a cluster.
@LoopActor
package final class EventStream {
    package struct Entry: Sendable, Equatable {
        /// As Redis numbers it: milliseconds since 1970, a dash, and a counter.
        package let id: String
        package let text: [UInt8]

        package init(id: String, text: [UInt8]) {
            self.id = id
            self.text = text
        }

        /// When Redis took it, in milliseconds since 1970.
        package var milliseconds: Int { id.split(separator: "-").first.flatMap { Int($0) } ?? 0 }
    }

    /// An entry that a worker has, or had when it ended.
    package struct Pending: Sendable, Equatable {
        package let id: String
        /// Since it was given out last.
        package let idle: Duration
        /// How often it was.
        package let attempts: Int

        package init(id: String, idle: Duration, attempts: Int) {
            self.id = id
            self.idle = idle
            self.attempts = attempts
        }
    }

    /// What a worker is to post.
    package struct Taken: Sendable, Equatable {
        /// Those that were asked for, as far as no other worker was faster.
        package var claimed: [Entry] = []
        package var new: [Entry] = []
        /// A page of what was given out before.
        package var pending: [Pending] = []
        /// How many those are in all.
        package var pendingCount = 0
    }

    /// A dead event, and why it is.
    package struct Dead: Sendable, Equatable {
        package let id: String
        package let text: [UInt8]
        package let reason: String
        package let attempts: Int
    }

    private nonisolated static let group = "webhook"
    private nonisolated static let field = "event"
    /// In one call, so that none keeps Redis long.
    static let maximumEntries = 64

    package let redis: any RedisClient
    package let key: String
    package let deadKey: String
    private let settings: Settings.Events

    package init(redis: any RedisClient, settings: Settings.Events, keyPrefix: String) {
        self.redis = redis
        self.settings = settings
        key = "\(keyPrefix){\(settings.stream)}"
        deadKey = key + ":dead"
    }

    // MARK: Adding

    /// Adds all of them, or none where Redis refuses.
    ///
    /// - Returns: how many others were trimmed for them; with a webhook these are lost.
    package func add(_ texts: [String]) async throws(RedisError) -> Int {
        let reply = try await redis.run(
            Self.addScript.call(keys: [key], arguments: [String(settings.maximumLength)] + texts))
        guard case .integer(let trimmed) = reply else { throw .refused(code: "MALFORMED") }
        return trimmed
    }

    /// What refuses a write refuses the first.
    static let addScript = RedisScript(
        text: """
            local before = redis.call('XLEN', KEYS[1])
            for index = 2, #ARGV do
              redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', '\(field)', ARGV[index])
            end
            return before + #ARGV - 1 - redis.call('XLEN', KEYS[1])
            """)

    // MARK: Delivering

    /// What a consumer of the group is to do now.
    ///
    /// - Parameters:
    ///   - count: of new entries, at most; may be 0.
    ///   - position: where the page of pending entries begins: an id, or `-`.
    ///   - page: how many it has at most.
    ///   - ids: of pending entries that this consumer is to have.
    ///   - idle: for how long each must not have been given out meanwhile.
    package func take(
        as consumer: String, new count: Int, from position: String, page: Int, claiming ids: [String],
        idleFor idle: Duration
    ) async throws(RedisError) -> Taken {
        let arguments = [consumer, String(count), position, String(page), String(idle.milliseconds)] + ids
        let reply = try await redis.run(Self.takeScript.call(keys: [key], arguments: arguments))
        guard case .array(let parts) = reply, parts.count == 4, case .array(let claimed) = parts[0],
            case .array(let new) = parts[1], case .array(let pending) = parts[2], case .integer(let total) = parts[3]
        else { throw .refused(code: "MALFORMED") }
        return Taken(
            claimed: claimed.compactMap(Self.entry), new: new.compactMap(Self.entry),
            pending: pending.compactMap(Self.pending), pendingCount: total)
    }

    /// Makes the group where there is none: from the beginning, so that nothing is left out.
    ///
    /// Before Redis 7, claiming an entry that was trimmed gives nil, and it stays pending.
    static let takeScript = RedisScript(
        text: """
            local pending = redis.pcall('XPENDING', KEYS[1], '\(group)', ARGV[3], '+', ARGV[4])
            if pending['err'] then
              if string.sub(pending['err'], 1, 7) ~= 'NOGROUP' then return pending end
              redis.call('XGROUP', 'CREATE', KEYS[1], '\(group)', '0', 'MKSTREAM')
              pending = {}
            end
            local claimed = {}
            for index = 6, #ARGV do
              local entry = redis.call('XCLAIM', KEYS[1], '\(group)', ARGV[1], ARGV[5], ARGV[index])[1]
              if entry then
                claimed[#claimed + 1] = entry
              elseif entry == false then
                redis.call('XACK', KEYS[1], '\(group)', ARGV[index])
              end
            end
            local new = false
            if ARGV[2] ~= '0' then
              new = redis.call(
                'XREADGROUP', 'GROUP', '\(group)', ARGV[1], 'COUNT', ARGV[2], 'STREAMS', KEYS[1], '>')
            end
            return {claimed, new and new[1][2] or {}, pending, redis.call('XPENDING', KEYS[1], '\(group)')[1]}
            """)

    /// Removes an entry that was delivered.
    package func settle(_ id: String) async throws(RedisError) {
        _ = try await redis.run(Self.settleScript.call(keys: [key, deadKey], arguments: [id]))
    }

    /// Moves an entry to the dead ones.
    ///
    /// - Returns: how many dead ones were trimmed for it, which are lost; `nil` when it was not there any more.
    package func bury(
        _ entry: Entry, because reason: String, attempts: Int, keeping maximumLength: Int
    ) async throws(RedisError) -> Int? {
        let text = String(decoding: entry.text, as: UTF8.self)
        let reply = try await redis.run(
            Self.settleScript.call(
                keys: [key, deadKey], arguments: [entry.id, String(maximumLength), text, reason, String(attempts)]))
        guard case .integer(let removed) = reply else { throw .refused(code: "MALFORMED") }
        return removed > 0 ? removed - 1 : nil
    }

    /// Gives how many entries it removed: this one, and the dead ones that were trimmed for it.
    static let settleScript = RedisScript(
        text: """
            if redis.call('XACK', KEYS[1], '\(group)', ARGV[1]) == 0 then return 0 end
            redis.call('XDEL', KEYS[1], ARGV[1])
            if #ARGV == 1 then return 1 end
            local before = redis.call('XLEN', KEYS[2])
            redis.call(
              'XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', '\(field)', ARGV[3], 'reason', ARGV[4], 'attempts', ARGV[5])
            return before + 2 - redis.call('XLEN', KEYS[2])
            """)

    private nonisolated static func entry(_ reply: RedisReply) -> Entry? {
        guard case .array(let parts) = reply, parts.count == 2, case .text(let id) = parts[0] else { return nil }
        // One that another program wrote is taken, too, and found to be none of ours.
        return Entry(id: String(decoding: id, as: UTF8.self), text: fields(parts[1])[field] ?? [])
    }

    private nonisolated static func pending(_ reply: RedisReply) -> Pending? {
        guard case .array(let parts) = reply, parts.count == 4, case .text(let id) = parts[0],
            case .integer(let idle) = parts[2], case .integer(let attempts) = parts[3]
        else { return nil }
        return Pending(id: String(decoding: id, as: UTF8.self), idle: .milliseconds(idle), attempts: attempts)
    }

    private nonisolated static func fields(_ reply: RedisReply) -> [String: [UInt8]] {
        guard case .array(let texts) = reply else { return [:] }
        var fields: [String: [UInt8]] = [:]
        for index in stride(from: 0, to: texts.count - 1, by: 2) {
            guard case .text(let name) = texts[index], case .text(let value) = texts[index + 1] else { continue }
            fields[String(decoding: name, as: UTF8.self)] = value
        }
        return fields
    }

    // MARK: For operators

    /// How many entries there are, how many of them were given out, how many are dead, and when Redis took the oldest.
    package struct Status: Sendable, Equatable {
        package var length = 0
        package var pendingCount = 0
        package var deadCount = 0
        /// In milliseconds since 1970.
        package var oldest: Int?
    }

    package func status() async throws(RedisError) -> Status {
        var status = Status()
        if case .integer(let length) = try await redis.read(RedisCommand(["XLEN", key])) { status.length = length }
        if case .integer(let length) = try await redis.read(RedisCommand(["XLEN", deadKey])) {
            status.deadCount = length
        }
        if case .array(let entries) = try await redis.read(RedisCommand(["XRANGE", key, "-", "+", "COUNT", "1"])) {
            status.oldest = entries.first.flatMap(Self.entry)?.milliseconds
        }
        guard settings.webhook != nil else { return status }
        do throws(RedisError) {
            let reply = try await redis.read(RedisCommand(["XPENDING", key, Self.group], near: key))
            if case .array(let parts) = reply, case .integer(let count)? = parts.first { status.pendingCount = count }
        } catch {
            // No worker has looked yet.
            guard error == .refused(code: "NOGROUP") else { throw error }
        }
        return status
    }

    /// The dead ones behind an id, oldest first.
    package func dead(after id: String?, count: Int) async throws(RedisError) -> [Dead] {
        let start = id.map(Self.next) ?? "-"
        let reply = try await redis.read(RedisCommand(["XRANGE", deadKey, start, "+", "COUNT", String(count)]))
        guard case .array(let entries) = reply else { return [] }
        return entries.compactMap { entry in
            guard case .array(let parts) = entry, parts.count == 2, case .text(let id) = parts[0] else { return nil }
            let fields = Self.fields(parts[1])
            return Dead(
                id: String(decoding: id, as: UTF8.self), text: fields[Self.field] ?? [],
                reason: String(decoding: fields["reason"] ?? [], as: UTF8.self),
                attempts: fields["attempts"].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0)
        }
    }

    package enum Revival: Sendable {
        case done
        /// It is dead no more.
        case gone
        /// The stream has as many as it may: another would be trimmed for it.
        case full
    }

    /// Puts a dead one into the stream again, as a new entry.
    package func revive(_ dead: Dead) async throws(RedisError) -> Revival {
        let text = String(decoding: dead.text, as: UTF8.self)
        let call = Self.reviveScript.call(
            keys: [deadKey, key], arguments: [dead.id, String(settings.maximumLength), text])
        return switch try await redis.run(call) {
        case .integer(1): .done
        case .integer(-1): .full
        default: .gone
        }
    }

    private static let reviveScript = RedisScript(
        text: """
            if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[2]) then return -1 end
            if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
            redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', '\(field)', ARGV[3])
            return 1
            """)

    /// The least id behind another.
    nonisolated static func next(_ id: String) -> String {
        let parts = id.split(separator: "-")
        guard parts.count == 2, let counter = UInt64(parts[1]), counter < .max else { return id }
        return "\(parts[0])-\(counter + 1)"
    }
}
