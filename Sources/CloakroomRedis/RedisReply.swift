/// The reply of Redis to one command.
package enum RedisReply: Sendable, Equatable {
    case text([UInt8])
    case integer(Int)
    case array([RedisReply])
    case null
    case status(String)
    /// An error of the server's, such as `READONLY You can't write against a read only replica.`
    case error(String)

    package init(_ cursor: inout RedisReplyCursor) {
        switch cursor.next() {
        case .text(let text): self = .text(Array(cursor.bytes(of: text)))
        case .integer(let number): self = .integer(number)
        case .array(let count): self = .array((0..<count).map { _ in RedisReply(&cursor) })
        case .null: self = .null
        case .status(let text): self = .status(String(decoding: cursor.bytes(of: text), as: UTF8.self))
        case .error(let text): self = .error(String(decoding: cursor.bytes(of: text), as: UTF8.self))
        }
    }
}

/// What became of one command: its reply, or why there is none.
package typealias RedisOutcome = Result<RedisReply, RedisError>

/// Why a command has no reply.
package enum RedisError: Error, Sendable, Equatable {
    /// No connection, and none to be had before the command's time is up; nothing was sent.
    case unavailable
    /// The command was sent, and no reply came in time: it may have been carried out.
    case timeout
    /// The connection broke with the command on the way: it may have been carried out.
    case interrupted
    /// The server's refusal; the code is the first word, such as `LOADING`.
    case refused(code: String)

    /// - Parameter message: an error reply. Its first word is the code, but for one that Redis gives none, and for what
    ///   went wrong inside a script: servers before Redis 7 put that behind an `ERR` of their own.
    init(refusal message: String) {
        let code = String(message.prefix { $0 != " " })
        if message.hasPrefix("ERR max number of clients") {
            self = .refused(code: "MAXCLIENTS")
        } else if message.hasPrefix("ERR "), message.contains("The user executing the script can't") {
            // Redis 7.0 has no word of its own for a right that a script's user lacks.
            self = .refused(code: "NOPERM")
        } else if message.hasPrefix("ERR Error running script"), let inner = Self.codeInside(message) {
            self = .refused(code: inner)
        } else {
            self = .refused(code: code)
        }
    }

    /// The word of the last ` -WORD ` of a message, such as `… @user_script: 5: -READONLY You can't write …`.
    private static func codeInside(_ message: String) -> String? {
        message.split(separator: " ").last { word in
            word.count > 3 && word.first == "-" && word.dropFirst().allSatisfy { ("A"..."Z").contains($0) }
        }
        .map { String($0.dropFirst()) }
    }

    /// Whether this server cannot help, but another at the same address may.
    var requiresReconnect: Bool {
        [.refused(code: "READONLY"), .refused(code: "NOAUTH"), .refused(code: "MASTERDOWN")].contains(self)
    }

    /// The label in metrics.
    package var label: String {
        switch self {
        case .unavailable: "unavailable"
        case .timeout: "timeout"
        case .interrupted: "interrupted"
        case .refused(let code): code.lowercased()
        }
    }
}
