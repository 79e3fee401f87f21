import Glibc

/// One interpreter of Lua 5.1 with Redis' functions, for our scripts: Debian's library, opened when a simulation begins, so that
/// nothing needs it to be built.
///
/// Source: redis.io, "Redis Lua API reference", for what values become; Lua 5.1 Reference Manual, §3.
final class Lua {
    enum Value {
        case null
        case integer(Int)
        case text([UInt8])
        /// Such as `OK`.
        case status(String)
        case array([Value])
        case error(String)
    }

    typealias State = OpaquePointer
    private typealias Function = @convention(c) (State?) -> Int32

    /// What `redis.call` does; set while a script runs. A C function has no other way to it.
    nonisolated(unsafe) private static var current: Lua?

    private let library: UnsafeMutableRawPointer
    private let state: State
    private let call: ([[UInt8]]) -> Value
    /// Scripts that were compiled, by the names of their functions in the registry.
    private var functions: [[UInt8]: String] = [:]

    /// - Parameter call: runs a command of Redis.
    init(_ call: @escaping ([[UInt8]]) -> Value) {
        guard let library = dlopen("liblua5.1.so.0", RTLD_NOW) else {
            Finding.end("liblua5.1.so.0 is missing (apt-get install liblua5.1-0)")
        }
        self.library = library
        self.call = call
        let make = Self.symbol("luaL_newstate", in: library, as: (@convention(c) () -> State?).self)
        guard let state = make() else { Finding.end("Lua has no memory") }
        self.state = state
        Self.symbol("luaL_openlibs", in: library, as: (@convention(c) (State?) -> Void).self)(state)
        openRedis()
    }

    private static func symbol<T>(_ name: String, in library: UnsafeMutableRawPointer, as type: T.Type) -> T {
        guard let symbol = dlsym(library, name) else { Finding.end("Lua 5.1 has no \(name)") }
        return unsafeBitCast(symbol, to: type)
    }

    // MARK: Its functions

    private static let (registry, globals): (Int32, Int32) = (-10_000, -10_002)
    private lazy var createTable = Self.symbol(
        "lua_createtable", in: library, as: (@convention(c) (State?, Int32, Int32) -> Void).self)
    private lazy var setField = Self.symbol(
        "lua_setfield", in: library, as: (@convention(c) (State?, Int32, UnsafePointer<CChar>) -> Void).self)
    private lazy var pushClosure = Self.symbol(
        "lua_pushcclosure", in: library, as: (@convention(c) (State?, Function, Int32) -> Void).self)
    private lazy var pushText = Self.symbol(
        "lua_pushlstring", in: library, as: (@convention(c) (State?, UnsafeRawPointer?, Int) -> Void).self)
    private lazy var pushNumber = Self.symbol(
        "lua_pushnumber", in: library, as: (@convention(c) (State?, Double) -> Void).self)
    private lazy var pushBoolean = Self.symbol(
        "lua_pushboolean", in: library, as: (@convention(c) (State?, Int32) -> Void).self)
    private lazy var setElement = Self.symbol(
        "lua_rawseti", in: library, as: (@convention(c) (State?, Int32, Int32) -> Void).self)
    private lazy var getField = Self.symbol(
        "lua_getfield", in: library, as: (@convention(c) (State?, Int32, UnsafePointer<CChar>) -> Void).self)
    private lazy var getElement = Self.symbol(
        "lua_rawgeti", in: library, as: (@convention(c) (State?, Int32, Int32) -> Void).self)
    private lazy var type = Self.symbol("lua_type", in: library, as: (@convention(c) (State?, Int32) -> Int32).self)
    private lazy var toText = Self.symbol(
        "lua_tolstring", in: library,
        as: (@convention(c) (State?, Int32, UnsafeMutablePointer<Int>) -> UnsafeRawPointer?).self)
    private lazy var toNumber = Self.symbol(
        "lua_tonumber", in: library, as: (@convention(c) (State?, Int32) -> Double).self)
    private lazy var toBoolean = Self.symbol(
        "lua_toboolean", in: library, as: (@convention(c) (State?, Int32) -> Int32).self)
    private lazy var top = Self.symbol("lua_gettop", in: library, as: (@convention(c) (State?) -> Int32).self)
    private lazy var pushCopy = Self.symbol(
        "lua_pushvalue", in: library, as: (@convention(c) (State?, Int32) -> Void).self)
    private lazy var setTop = Self.symbol("lua_settop", in: library, as: (@convention(c) (State?, Int32) -> Void).self)
    private lazy var load = Self.symbol(
        "luaL_loadbuffer", in: library,
        as: (@convention(c) (State?, UnsafeRawPointer?, Int, UnsafePointer<CChar>) -> Int32).self)
    private lazy var protectedCall = Self.symbol(
        "lua_pcall", in: library, as: (@convention(c) (State?, Int32, Int32, Int32) -> Int32).self)

    private func openRedis() {
        createTable(state, 0, 3)
        pushClosure(state, { _ in Lua.current?.callRedis() ?? 0 }, 0)
        setField(state, -2, "pcall")
        pushClosure(state, { _ in Lua.current?.hash() ?? 0 }, 0)
        setField(state, -2, "sha1hex")
        setField(state, Self.globals, "redis")
        guard loads(Array(Self.redisCall.utf8)), protectedCall(state, 0, 0, 0) == 0 else {
            Finding.end("Lua does not take redis.call")
        }
    }

    /// In Lua, because the end of a script by an error is a jump, which Swift's frames would not survive.
    private static let redisCall = """
        function redis.call(...)
          local reply = redis.pcall(...)
          if type(reply) == 'table' and reply.err then error(reply) end
          return reply
        end
        """

    // MARK: Scripts

    /// - Returns: whether it is Lua; then it stands on the stack as a function.
    private func loads(_ script: [UInt8]) -> Bool {
        if let name = functions[script] {
            getField(state, Self.registry, name)
            return true
        }
        guard script.withUnsafeBytes({ load(state, $0.baseAddress, $0.count, "@user_script") }) == 0 else {
            return false
        }
        let name = "script \(functions.count)"
        functions[script] = name
        pushCopy(state, -1)
        setField(state, Self.registry, name)
        return true
    }

    func compiles(_ script: [UInt8]) -> Bool {
        defer { setTop(state, 0) }
        return loads(script)
    }

    func run(_ script: [UInt8], keys: [[UInt8]], arguments: [[UInt8]]) -> Value {
        Self.current = self
        defer {
            Self.current = nil
            setTop(state, 0)
        }
        set("KEYS", keys)
        set("ARGV", arguments)
        guard loads(script), protectedCall(state, 0, 1, 0) == 0 else {
            // What `redis.call` threw is a table.
            if case .error(let message) = value(at: -1) { return .error(message) }
            return .error("ERR \(String(decoding: text(at: -1) ?? [], as: UTF8.self))")
        }
        return value(at: -1)
    }

    private func set(_ name: String, _ texts: [[UInt8]]) {
        createTable(state, Int32(texts.count), 0)
        for (index, text) in texts.enumerated() {
            push(text)
            setElement(state, -2, Int32(index + 1))
        }
        setField(state, Self.globals, name)
    }

    private func push(_ bytes: [UInt8]) { bytes.withUnsafeBytes { pushText(state, $0.baseAddress, $0.count) } }

    private func text(at index: Int32) -> [UInt8]? {
        var count = 0
        guard let start = toText(state, index, &count) else { return nil }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// `redis.pcall`, with what stands on the stack.
    private func callRedis() -> Int32 {
        let words = (1...max(1, top(state))).compactMap { text(at: $0) }
        guard words.count == top(state) else {
            push(.error("ERR Lua redis lib command arguments must be strings or integers"))
            return 1
        }
        push(call(words))
        return 1
    }

    private func hash() -> Int32 {
        push(Array(RedisData.digest(of: text(at: 1) ?? []).utf8))
        return 1
    }

    private func push(_ value: Value) {
        switch value {
        case .null: pushBoolean(state, 0)
        case .integer(let number): pushNumber(state, Double(number))
        case .text(let bytes): push(bytes)
        case .status(let text): push(text, as: "ok")
        case .error(let message): push(message, as: "err")
        case .array(let elements):
            createTable(state, Int32(elements.count), 0)
            for (index, element) in elements.enumerated() {
                push(element)
                setElement(state, -2, Int32(index + 1))
            }
        }
    }

    private func push(_ text: String, as field: String) {
        createTable(state, 0, 1)
        push(Array(text.utf8))
        setField(state, -2, field)
    }

    private func value(at index: Int32) -> Value {
        switch type(state, index) {
        case 1: return toBoolean(state, index) != 0 ? .integer(1) : .null
        // What has no integer becomes the least, as the processor does it.
        case 3: return .integer(Int(exactly: toNumber(state, index).rounded(.towardZero)) ?? .min)
        case 4: return .text(text(at: index) ?? [])
        case 5:
            if let message = field("err", at: index) { return .error(message) }
            if let text = field("ok", at: index) { return .status(text) }
            return .array(elements(at: index))
        default: return .null
        }
    }

    private func field(_ name: String, at index: Int32) -> String? {
        getField(state, index, name)
        defer { setTop(state, -2) }
        return type(state, -1) == 4 ? text(at: -1).map { String(decoding: $0, as: UTF8.self) } : nil
    }

    /// Up to the first that is nil.
    private func elements(at index: Int32) -> [Value] {
        let table = index < 0 ? top(state) + index + 1 : index
        var elements: [Value] = []
        while true {
            getElement(state, table, Int32(elements.count + 1))
            defer { setTop(state, -2) }
            if type(state, -1) == 0 { return elements }
            elements.append(value(at: top(state)))
        }
    }
}
