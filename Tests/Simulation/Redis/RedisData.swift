import CloakroomCrypto

/// What a Redis server keeps, and what our commands and scripts do with it.
///
/// Source: redis.io, "Commands"; of each only the forms that the project sends.
final class RedisData {
    private enum Value {
        case text([UInt8])
        case hash([[UInt8]: [UInt8]])
    }

    private struct Entry {
        var value: Value
        /// Milliseconds since 1970.
        var end: UInt64?
    }

    private var entries: [[UInt8]: Entry] = [:]
    private var scripts: [String: [UInt8]] = [:]
    private lazy var lua = Lua { [unowned self] words in run(words) }

    /// A server that lost all it had, such as one without persistence that was started again.
    func flush() {
        entries = [:]
        scripts = [:]
    }

    static func digest(of bytes: [UInt8]) -> String { SHA1.hash(bytes).hexadecimal }

    private static var milliseconds: UInt64 { VirtualTime.now / 1_000_000 }

    // MARK: Commands

    func run(_ words: [[UInt8]]) -> Lua.Value {
        let name = String(decoding: words[0], as: UTF8.self).uppercased()
        let arguments = Array(words.dropFirst())
        switch name {
        case "PING": return .status("PONG")
        case "GET": return arguments.count == 1 ? get(arguments[0]) : Self.wrongCount(name)
        case "SET": return arguments.count >= 2 ? set(arguments) : Self.wrongCount(name)
        case "DEL": return .integer(arguments.count { entries.removeValue(forKey: $0) != nil })
        case "EXISTS": return .integer(arguments.count { entry($0) != nil })
        case "INCRBY": return increment(arguments, sign: 1)
        case "DECRBY": return increment(arguments, sign: -1)
        case "PTTL":
            guard let entry = entry(arguments[0]) else { return .integer(-2) }
            return .integer(entry.end.map { Int($0 - Self.milliseconds) } ?? -1)
        case "PEXPIRE":
            guard entry(arguments[0]) != nil, let milliseconds = Self.number(arguments[1]) else { return .integer(0) }
            entries[arguments[0]]?.end = Self.milliseconds + UInt64(max(0, milliseconds))
            return .integer(1)
        case "HGET":
            let fields = hash(arguments[0])
            return fields[arguments[1]].map { .text($0) } ?? .null
        case "HMGET":
            let fields = Plant.current == .recordsAreForgotten ? [:] : hash(arguments[0])
            return .array(arguments.dropFirst().map { fields[$0].map { .text($0) } ?? .null })
        case "HSET":
            var fields = hash(arguments[0])
            for index in stride(from: 1, to: arguments.count - 1, by: 2) {
                fields[arguments[index]] = arguments[index + 1]
            }
            return put(fields, arguments[0])
        case "HDEL":
            var fields = hash(arguments[0])
            for field in arguments.dropFirst() { fields[field] = nil }
            return put(fields, arguments[0])
        case "EVAL": return evaluate(arguments[0], Array(arguments.dropFirst()))
        case "EVALSHA":
            guard let script = scripts[String(decoding: arguments[0], as: UTF8.self)] else {
                return .error("NOSCRIPT No matching script. Please use EVAL.")
            }
            return evaluate(script, Array(arguments.dropFirst()))
        default: Finding.end("the model of Redis does not know \(name)")
        }
    }

    private static func wrongCount(_ name: String) -> Lua.Value {
        .error("ERR wrong number of arguments for '\(name)'")
    }

    private func entry(_ key: [UInt8]) -> Entry? {
        guard let entry = entries[key] else { return nil }
        guard let end = entry.end, end <= Self.milliseconds else { return entry }
        entries[key] = nil
        return nil
    }

    private func get(_ key: [UInt8]) -> Lua.Value {
        guard case .text(let bytes) = entry(key)?.value else { return .null }
        return .text(bytes)
    }

    private func set(_ arguments: [[UInt8]]) -> Lua.Value {
        var end: UInt64?
        var index = 2
        while index < arguments.count {
            switch String(decoding: arguments[index], as: UTF8.self).uppercased() {
            case "NX":
                if entry(arguments[0]) != nil { return .null }
            case "PX":
                index += 1
                end = Self.milliseconds + UInt64(Self.number(arguments[index]) ?? 0)
            case "EX":
                index += 1
                end = Self.milliseconds + 1000 * UInt64(Self.number(arguments[index]) ?? 0)
            default: return .error("ERR syntax error")
            }
            index += 1
        }
        entries[arguments[0]] = Entry(value: .text(arguments[1]), end: end)
        return .status("OK")
    }

    private func increment(_ arguments: [[UInt8]], sign: Int) -> Lua.Value {
        guard arguments.count == 2, let by = Self.number(arguments[1]) else {
            return .error("ERR value is not an integer")
        }
        var entry = entry(arguments[0]) ?? Entry(value: .text([0x30]))
        guard case .text(let bytes) = entry.value, let count = Self.number(bytes) else {
            return .error("ERR value is not an integer or out of range")
        }
        entry.value = .text(Array(String(count + sign * by).utf8))
        entries[arguments[0]] = entry
        return .integer(count + sign * by)
    }

    private func hash(_ key: [UInt8]) -> [[UInt8]: [UInt8]] {
        guard case .hash(let fields) = entry(key)?.value else { return [:] }
        return fields
    }

    private func put(_ fields: [[UInt8]: [UInt8]], _ key: [UInt8]) -> Lua.Value {
        entries[key] = fields.isEmpty ? nil : Entry(value: .hash(fields), end: entries[key]?.end)
        return .integer(1)
    }

    private func evaluate(_ script: [UInt8], _ arguments: [[UInt8]]) -> Lua.Value {
        guard let count = arguments.first.flatMap({ Self.number($0) }), count >= 0, arguments.count > count else {
            return .error("ERR Number of keys can't be greater than number of args")
        }
        scripts[Self.digest(of: script)] = script
        return lua.run(script, keys: Array(arguments[1..<(count + 1)]), arguments: Array(arguments[(count + 1)...]))
    }

    private static func number(_ text: [UInt8]) -> Int? { Int(String(decoding: text, as: UTF8.self)) }
}
