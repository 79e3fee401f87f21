import CHiredis

/// What Redis answered to one command.
package enum RedisReply: Sendable, Equatable {
    case text([UInt8])
    case integer(Int)
    case array([RedisReply])
    case null
    case status(String)
    /// An error of the server's, such as `READONLY You can't write against a read only replica.`
    case error(String)

    /// Copies a reply of hiredis, which frees its own.
    init(_ reply: borrowing redisReply) {
        switch unsafe reply.type {
        case REDIS_REPLY_STRING: self = unsafe .text(Self.bytes(reply))
        case REDIS_REPLY_STATUS: self = unsafe .status(String(decoding: Self.bytes(reply), as: UTF8.self))
        case REDIS_REPLY_ERROR: self = unsafe .error(String(decoding: Self.bytes(reply), as: UTF8.self))
        case REDIS_REPLY_INTEGER: self = unsafe .integer(Int(reply.integer))
        case REDIS_REPLY_ARRAY:
            let elements = unsafe UnsafeBufferPointer(start: reply.element, count: reply.elements)
            self = unsafe .array(
                elements.map { element in unsafe element.map { unsafe RedisReply($0.pointee) } ?? .null })
        default: self = .null
        }
    }

    private static func bytes(_ reply: borrowing redisReply) -> [UInt8] {
        guard let start = unsafe reply.str else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(reply.len)))
    }
}

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
