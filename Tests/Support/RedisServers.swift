import Foundation

/// A real redis-server on a unix socket, without persistence.
package final class RedisServer: Sendable {
    package let path: String
    private let program: Program

    /// Blocks the thread until it listens.
    package init(path: String, options: [String] = []) throws {
        self.path = path
        program = try Program(
            "redis-server", variable: "CLOAKROOM_REDIS_SERVER",
            arguments: ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"] + options,
            until: Self.announcement)
    }

    /// What the server prints when it listens: of a unix socket, Redis up to 7.0 that it "is now ready to", others "Ready to".
    package static let announcement = "eady to accept connections"

    package func kill() { program.kill() }
}

/// Something that answers where Redis should, as a script says.
package final class ScriptedRedis: Sendable {
    package enum Step: Sendable {
        case reply(String)
        /// Each byte in a write of its own.
        case dribble(String)
        case wait(Latch)
        case end
    }

    private let server: SocketServer

    /// - Parameters:
    ///   - path: `nil` for a free port of 127.0.0.1.
    ///   - script: is told a command in upper case words and its connection's number, from 0.
    package init(path: String? = nil, script: @escaping @Sendable ([String], Int) -> [Step]) throws {
        server = try SocketServer(unixPath: path) { peer, connection in
            var bytes: [UInt8] = []
            while let command = Self.command(from: peer, &bytes) {
                for step in script(command, connection) {
                    guard Self.take(step, on: peer) else { return }
                }
            }
        }
    }

    deinit { stop() }

    package var port: UInt16 { server.port }

    /// Ends every connection and takes no more.
    package func stop() { server.stop() }

    package var connections: Int { server.accepted }

    private static func take(_ step: Step, on peer: Peer) -> Bool {
        do {
            switch step {
            case .reply(let text): try peer.write(Array(text.utf8))
            case .dribble(let text): for byte in text.utf8 { try peer.write([byte]) }
            case .wait(let latch): return latch.wait()
            case .end: return false
            }
            return true
        } catch {
            return false
        }
    }

    /// Lines of RESP: `*N`, then `$length` and the word, N times.
    private static func command(from peer: Peer, _ bytes: inout [UInt8]) -> [String]? {
        func line() -> String? {
            while !bytes.contains(0x0A) {
                guard let more = try? peer.read(), !more.isEmpty else { return nil }
                bytes += more
            }
            guard let end = bytes.firstIndex(of: 0x0A) else { return nil }
            defer { bytes.removeFirst(end + 1) }
            return String(decoding: bytes[..<end].dropLast(), as: UTF8.self)
        }
        guard let count = line().flatMap({ Int($0.dropFirst()) }) else { return nil }
        var words: [String] = []
        for _ in 0..<count {
            guard line() != nil, let word = line() else { return nil }
            words.append(word.uppercased())
        }
        return words
    }
}
