import Foundation

/// A Redis on a unix socket that keeps nothing.
final class StackRedis {
    let path: String
    private let folder: String
    private(set) var program: RunningProgram

    init(folder: String) throws {
        self.folder = folder
        path = "\(folder)/redis.sock"
        program = try Self.start(folder, path)
        try waitUntilReady()
    }

    /// Starts it anew, after it was stopped.
    func restart() throws {
        program.stop(SIGKILL)
        program = try Self.start(folder, path)
        try waitUntilReady()
    }

    private static func start(_ folder: String, _ path: String) throws -> RunningProgram {
        try RunningProgram(
            try Programs.redis,
            [
                "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder,
                "--set-proc-title", "no",
            ], output: "\(folder)/redis.log")
    }

    private func waitUntilReady() throws {
        try wait(for: "Redis, its log is in \(program.output)", within: .seconds(10)) {
            (try? command("PING")) == ["PONG"]
        }
    }

    func stop() {
        program.signal(SIGCONT)
        program.stop(SIGKILL)
    }

    /// One command by the inline protocol (redis.io, "RESP").
    ///
    /// - Returns: the texts and numbers of its answer, flattened.
    @discardableResult
    func command(_ line: String) throws -> [String] {
        let socket = try Socket(path: path, timeout: .seconds(2))
        try socket.send(line + "\r\n")
        var answer = ""
        while true {
            if let done = Self.parse(answer) { return done }
            guard let more = try socket.receive() else {
                throw MissingProgramError(description: "Redis went away: \(answer)")
            }
            answer += String(decoding: more, as: UTF8.self)
        }
    }

    /// - Returns: `nil` as long as something is missing.
    private static func parse(_ text: String) -> [String]? {
        var lines = text.components(separatedBy: "\r\n")[...]
        guard lines.count > 1 else { return nil }
        lines.removeLast()
        var values: [String] = []
        var missing = 1
        while missing > 0 {
            guard let line = lines.popFirst(), let mark = line.first else { return nil }
            missing -= 1
            switch mark {
            case "*": missing += max(0, Int(line.dropFirst()) ?? 0)
            case "$":
                guard let count = Int(line.dropFirst()), count >= 0 else { continue }
                guard let value = lines.popFirst() else { return nil }
                values.append(value)
            default: values.append(String(line.dropFirst()))
            }
        }
        return values
    }
}
