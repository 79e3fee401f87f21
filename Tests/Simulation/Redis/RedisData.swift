import CloakroomCrypto
import CloakroomServer

/// What a Redis server keeps, and what our commands and scripts do with it.
///
/// Source: redis.io, "Commands"; of each only the forms that the project sends. `deploy/simulation --compare redis` holds it
/// against a real server.
final class RedisData {
    /// What a command is refused with.
    struct Refusal: Error {
        let message: String

        init(_ message: String) { self.message = message }

        static let syntax = Refusal("ERR syntax error")
        static let notInteger = Refusal("ERR value is not an integer or out of range")
        static let wrongType = Refusal("WRONGTYPE Operation against a key holding the wrong kind of value")
        static let noScript = Refusal("NOSCRIPT No matching script. Please use EVAL.")

        static func wrongCount(_ name: String) -> Refusal {
            Refusal("ERR wrong number of arguments for '\(name.lowercased())' command")
        }

        static func wrongExpiry(_ name: String) -> Refusal {
            Refusal("ERR invalid expire time in '\(name.lowercased())' command")
        }
    }

    private(set) var entries = RedisKeyspace()
    /// What hashes were, until when: those of a planted fault.
    private var former: [[UInt8]: (fields: [[UInt8]: [UInt8]], end: UInt64)] = [:]
    private var scripts: [String: [UInt8]] = [:]
    /// Why this server takes no writes, if it takes none.
    var refusal: () -> String? = { nil }
    private lazy var lua = Lua { [unowned self] words in run(words) }

    /// A server that lost all it had, such as one without persistence that was started again.
    func flush() {
        entries.removeAll()
        forgetScripts()
    }

    func forgetScripts() { scripts = [:] }

    /// When its keys end, in milliseconds since 1970.
    var ends: [UInt64] { entries.ends }

    /// What has changed since this was last called: for replicas.
    func takeChanges() -> [RedisKeyspace.Change] { entries.takeChanges() }

    /// What a master has changed.
    func apply(_ changes: [RedisKeyspace.Change]) { entries.apply(changes) }

    func set(_ key: [UInt8], _ entry: RedisKeyspace.Entry?) { entries[key] = entry }

    /// All that another server has, and nothing else; scripts are not among it.
    func copy(_ other: RedisData) { entries = other.entries }

    /// Those that a command is about.
    static func keys(of words: [[UInt8]]) -> [[UInt8]] {
        switch String(decoding: words[0], as: UTF8.self).uppercased() {
        case "PING", "SCAN": return []
        case "EVAL", "EVALSHA":
            guard words.count > 2, let count = try? integer(words[2]) else { return [] }
            return Array(words.dropFirst(3).prefix(max(0, count)))
        case "DEL", "EXISTS": return Array(words.dropFirst())
        default: return words.count > 1 ? [words[1]] : []
        }
    }

    static func digest(of bytes: [UInt8]) -> String { SHA1.hash(bytes).hexadecimal }

    private static var milliseconds: UInt64 { VirtualTime.now / 1_000_000 }

    // MARK: Commands

    private static let writes: Set = ["SET", "DEL", "INCRBY", "DECRBY", "PEXPIRE", "HSET", "HDEL"]

    func run(_ words: [[UInt8]]) -> Lua.Value {
        let name = String(decoding: words[0], as: UTF8.self).uppercased()
        do throws(Refusal) { return try run(name, Array(words.dropFirst())) } catch { return .error(error.message) }
    }

    /// How many arguments each takes.
    ///
    /// Source: redis.io, COMMAND: arity.
    private static let counts: [String: ClosedRange<Int>] = [
        "PING": 0...1, "GET": 1...1, "SET": 2...(.max), "DEL": 1...(.max), "EXISTS": 1...(.max), "INCRBY": 2...2,
        "DECRBY": 2...2, "PTTL": 1...1, "PEXPIRE": 2...(.max), "HGET": 2...2, "HMGET": 2...(.max), "HSET": 3...(.max),
        "HDEL": 2...(.max), "EVAL": 2...(.max), "EVALSHA": 2...(.max),
    ]

    private func run(_ name: String, _ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        guard let counts = Self.counts[name] else { Finding.end("the model of Redis does not know \(name)") }
        guard counts.contains(arguments.count) else { throw .wrongCount(name) }
        if Self.writes.contains(name), let refusal = refusal() { throw Refusal(refusal) }
        switch name {
        case "PING": return arguments.first.map { .text($0) } ?? .status("PONG")
        case "GET": return try text(arguments[0]).map { .text($0) } ?? .null
        case "SET": return try set(arguments)
        case "DEL": return .integer(arguments.count { entry($0) != nil && entries.removeValue(forKey: $0) != nil })
        case "EXISTS": return .integer(arguments.count { entry($0) != nil })
        case "INCRBY": return try increment(name, arguments)
        case "DECRBY": return try increment(name, arguments)
        case "PTTL":
            guard let entry = entry(arguments[0]) else { return .integer(-2) }
            return .integer(entry.end.map { Int($0 - Self.milliseconds) } ?? -1)
        case "PEXPIRE": return try expire(arguments)
        case "HGET": return try hash(arguments[0])[arguments[1]].map { .text($0) } ?? .null
        case "HMGET":
            let kept = try hash(arguments[0])
            // A worker's request alone: the operator reads what was changed, and would try again.
            let isOfWorker = arguments.count > UserRecord.requestFields.count
            let planted = Plant.current == .recordsAreForgotten ? [:] : past(arguments[0])
            let fields = isOfWorker ? planted ?? kept : kept
            return .array(arguments.dropFirst().map { fields[$0].map { .text($0) } ?? .null })
        case "HSET": return try setFields(arguments)
        case "HDEL": return try removeFields(arguments)
        case "EVAL": return try evaluate(arguments)
        default: return try evaluateKnown(arguments)
        }
    }

    /// Keys without an expiry, for oracles; records of users have none.
    var lastingKeys: [String] {
        entries.keys.filter { entries[$0]?.end == nil }.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    /// Of what has not expired.
    var count: Int { entries.keys.count { entries[$0]?.end.map { $0 >= Self.milliseconds } ?? true } }

    private func past(_ key: [UInt8]) -> [[UInt8]: [UInt8]]? {
        former[key].flatMap { Self.milliseconds < $0.end ? $0.fields : nil }
    }

    private func entry(_ key: [UInt8]) -> RedisKeyspace.Entry? {
        guard let entry = entries[key] else { return nil }
        guard let end = entry.end, end < Self.milliseconds else { return entry }
        entries[key] = nil
        return nil
    }

    /// Strictly as Redis: no sign `+`, no zeros in front.
    private static func integer(_ text: [UInt8]) throws(Refusal) -> Int {
        let text = String(decoding: text, as: UTF8.self)
        guard let number = Int(text), String(number) == text else { throw .notInteger }
        return number
    }

    // MARK: Texts

    private func text(_ key: [UInt8]) throws(Refusal) -> [UInt8]? {
        guard let entry = entry(key) else { return nil }
        guard case .text(let bytes) = entry.value else { throw .wrongType }
        return bytes
    }

    private func set(_ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        var isNew = false
        var expiry: (text: [UInt8], unit: Int)?
        var rest = arguments.dropFirst(2)
        while let option = rest.popFirst() {
            switch String(decoding: option, as: UTF8.self).uppercased() {
            case "NX": isNew = true
            case "PX" where expiry == nil && !rest.isEmpty: expiry = (rest.removeFirst(), 1)
            case "EX" where expiry == nil && !rest.isEmpty: expiry = (rest.removeFirst(), 1000)
            default: throw .syntax
            }
        }
        var end: UInt64?
        if let expiry {
            let (milliseconds, overflows) = try Self.integer(expiry.text).multipliedReportingOverflow(by: expiry.unit)
            guard milliseconds > 0, !overflows else { throw .wrongExpiry("SET") }
            end = try Self.end(after: milliseconds, "SET")
            if Plant.current == .lockHasNoEnd, expiry.unit == 1 { end = nil }
        }
        if isNew, entry(arguments[0]) != nil { return .null }
        entries[arguments[0]] = RedisKeyspace.Entry(value: .text(arguments[1]), end: end)
        return .status("OK")
    }

    private static func end(after milliseconds: Int, _ name: String) throws(Refusal) -> UInt64 {
        let (end, overflows) = Int(Self.milliseconds).addingReportingOverflow(milliseconds)
        guard !overflows else { throw .wrongExpiry(name) }
        return UInt64(max(0, end))
    }

    private func expire(_ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        guard arguments.count == 2 else { throw Refusal("ERR Unsupported option") }
        let milliseconds = try Self.integer(arguments[1])
        let end = try Self.end(after: milliseconds, "PEXPIRE")
        guard entry(arguments[0]) != nil else { return .integer(0) }
        if milliseconds > 0 { entries[arguments[0]]?.end = end } else { entries[arguments[0]] = nil }
        return .integer(1)
    }

    private func increment(_ name: String, _ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        var by = try Self.integer(arguments[1])
        if name == "DECRBY" {
            guard by != .min else { throw Refusal("ERR decrement would overflow") }
            by = -by
        }
        let (count, overflows) = try Self.integer(text(arguments[0]) ?? [0x30]).addingReportingOverflow(by)
        guard !overflows else { throw Refusal("ERR increment or decrement would overflow") }
        entries[arguments[0]] = RedisKeyspace.Entry(
            value: .text(Array(String(count).utf8)), end: entries[arguments[0]]?.end)
        return .integer(count)
    }

    // MARK: Hashes

    private func hash(_ key: [UInt8]) throws(Refusal) -> [[UInt8]: [UInt8]] {
        guard let entry = entry(key) else { return [:] }
        guard case .hash(let fields) = entry.value else { throw .wrongType }
        return fields
    }

    private func setFields(_ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        guard arguments.count % 2 == 1 else { throw .wrongCount("HSET") }
        var fields = try hash(arguments[0])
        let count = fields.count
        if Plant.current == .revocationComesLate {
            former[arguments[0]] = (past(arguments[0]) ?? fields, Self.milliseconds + 3_600_000)
        }
        for index in stride(from: 1, to: arguments.count, by: 2) { fields[arguments[index]] = arguments[index + 1] }
        put(fields, arguments[0])
        return .integer(fields.count - count)
    }

    private func removeFields(_ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        var fields = try hash(arguments[0])
        let count = fields.count
        for field in arguments.dropFirst() { fields[field] = nil }
        put(fields, arguments[0])
        return .integer(count - fields.count)
    }

    private func put(_ fields: [[UInt8]: [UInt8]], _ key: [UInt8]) {
        entries[key] = fields.isEmpty ? nil : RedisKeyspace.Entry(value: .hash(fields), end: entries[key]?.end)
    }

    // MARK: Scripts

    private func evaluate(_ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        let keys = try Self.keyCount(arguments)
        guard lua.compiles(arguments[0]) else { throw Refusal("ERR Error compiling script") }
        scripts[Self.digest(of: arguments[0])] = arguments[0]
        return run(arguments[0], keys, arguments)
    }

    private func evaluateKnown(_ arguments: [[UInt8]]) throws(Refusal) -> Lua.Value {
        guard arguments[0].count == 40 else { throw .noScript }
        let keys = try Self.keyCount(arguments)
        guard let script = scripts[String(decoding: arguments[0], as: UTF8.self).lowercased()] else { throw .noScript }
        return run(script, keys, arguments)
    }

    private func run(_ script: [UInt8], _ keys: Int, _ arguments: [[UInt8]]) -> Lua.Value {
        lua.run(script, keys: Array(arguments[2..<(2 + keys)]), arguments: Array(arguments[(2 + keys)...]))
    }

    private static func keyCount(_ arguments: [[UInt8]]) throws(Refusal) -> Int {
        let count = try integer(arguments[1])
        guard count <= arguments.count - 2 else {
            throw Refusal("ERR Number of keys can't be greater than number of args")
        }
        guard count >= 0 else { throw Refusal("ERR Number of keys can't be negative") }
        return count
    }
}
