/// What Redis answered to one command.
package enum RedisReply: Sendable, Equatable {
    case text([UInt8])
    case integer(Int)
    case array([RedisReply])
    case null
    case status(String)
    /// An error of the server's, such as `READONLY You can't write against a read only replica.`
    case error(String)

    package init(_ reading: inout RedisReading) {
        switch reading.next() {
        case .text(let text): self = .text(Array(reading.bytes(of: text)))
        case .integer(let number): self = .integer(number)
        case .array(let count): self = .array((0..<count).map { _ in RedisReply(&reading) })
        case .null: self = .null
        case .status(let text): self = .status(String(decoding: reading.bytes(of: text), as: UTF8.self))
        case .error(let text): self = .error(String(decoding: reading.bytes(of: text), as: UTF8.self))
        }
    }
}

/// What became of one command: its reply, or why there is none.
package typealias RedisOutcome = Result<RedisReply, RedisError>

/// Why a command has no answer.
package enum RedisError: Error, Sendable, Equatable {
    /// No connection, and none to be had before the command's time is up; nothing was sent.
    case unavailable
    /// The command was sent, and no answer came in time: it may have been carried out.
    case timeout
    /// The connection broke with the command on the way: it may have been carried out.
    case interrupted
    /// The server's refusal; the code is the first word, such as `LOADING`.
    case refused(code: String)

    /// - Parameter message: an error reply. Its first word is the code, but for one that Redis gives none.
    init(refusal message: String) {
        let code = String(message.prefix { $0 != " " })
        self = .refused(code: message.hasPrefix("ERR max number of clients") ? "MAXCLIENTS" : code)
    }

    /// Whether this server cannot help, but another at the same address may.
    var leadsElsewhere: Bool {
        [.refused(code: "READONLY"), .refused(code: "NOAUTH"), .refused(code: "MASTERDOWN")].contains(self)
    }

    /// A word for metrics.
    package var label: String {
        switch self {
        case .unavailable: "unavailable"
        case .timeout: "timeout"
        case .interrupted: "interrupted"
        case .refused(let code): code.lowercased()
        }
    }
}
