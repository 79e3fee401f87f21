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
        case .lost(let error): self = .error(error.label.uppercased())
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
    /// TLS with the server failed before there was a reply; nothing was carried out.
    case tls(RedisTLSFailure)

    /// - Parameter message: an error reply. Its first word is the code, but for one that Redis gives none, and for what
    ///   went wrong inside a script: servers before Redis 7 put that behind an `ERR` of their own.
    init(refusal message: String) {
        let code = String(message.prefix { $0 != " " })
        if message.hasPrefix("ERR max number of clients") {
            self = .refused(code: "MAXCLIENTS")
        } else if message.hasPrefix("ERR "), Self.scriptsWithoutRights.contains(where: { message.contains($0) }) {
            self = .refused(code: "NOPERM")
        } else if message.hasPrefix("ERR Error running script"), let inner = Self.codeInside(message) {
            self = .refused(code: inner)
        } else {
            self = .refused(code: code)
        }
    }

    /// Redis has no word of its own for a right that a script's user lacks: so says 7.0, and so do later ones.
    private static let scriptsWithoutRights = ["The user executing the script can't", "ACL failure in script: "]

    /// The word of the last ` -WORD ` of a message, such as `… @user_script: 5: -READONLY You can't write …`.
    private static func codeInside(_ message: String) -> String? {
        message.split(separator: " ").last { word in
            word.count > 3 && word.first == "-" && word.dropFirst().allSatisfy { ("A"..."Z").contains($0) }
        }
        .map { String($0.dropFirst()) }
    }

    /// Whether it says why: the server has refused, or TLS has failed.
    var isExplained: Bool {
        switch self {
        case .refused, .tls: true
        case .unavailable, .timeout, .interrupted: false
        }
    }

    /// Whether this server cannot help, but another at the same address may.
    var requiresReconnect: Bool {
        [.refused(code: "READONLY"), .refused(code: "NOAUTH"), .refused(code: "MASTERDOWN")].contains(self)
    }

    /// Whether another server of a cluster has the key, or will soon have it.
    var isRedirection: Bool {
        [.refused(code: "MOVED"), .refused(code: "ASK"), .refused(code: "TRYAGAIN")].contains(self)
    }

    /// Whether it says something about where a cluster has its keys.
    var isOfCluster: Bool { isRedirection || saysThatMapIsOld }

    /// Whether a cluster's slots have other servers than its client thought.
    var saysThatMapIsOld: Bool { [.refused(code: "MOVED"), .refused(code: "CLUSTERDOWN")].contains(self) }

    /// In few words; but for what failed in TLS one of the labels in metrics.
    package var label: String {
        switch self {
        case .unavailable: "unavailable"
        case .timeout: "timeout"
        case .interrupted: "interrupted"
        case .refused(let code): code.lowercased()
        case .tls(let failure): "TLS: \(failure.text)"
        }
    }
}

/// One value of a reply.
package enum RedisValue: Sendable, Equatable {
    case text(Text)
    case integer(Int)
    /// So many elements, which come next.
    case array(Int)
    case null
    case status(Text)
    case error(Text)
    /// There is no reply to this part of a request, while others have theirs.
    case lost(RedisError)

    /// Where a reply's bytes lie; ``RedisReplyCursor/bytes(of:)`` gives them.
    package struct Text: Sendable, Equatable {
        fileprivate let start: Int32
        fileprivate let count: Int32

        /// hiredis takes no text beyond 512 MB.
        init(start: Int, count: Int) {
            self.start = Int32(start)
            self.count = Int32(count)
        }

        fileprivate func moved(by offset: Int) -> Text { Text(start: Int(start) + offset, count: Int(count)) }
    }

    /// The same, with its text so much further on.
    fileprivate func moved(by offset: Int) -> RedisValue {
        switch self {
        case .text(let text): .text(text.moved(by: offset))
        case .status(let text): .status(text.moved(by: offset))
        case .error(let text): .error(text.moved(by: offset))
        case .integer, .array, .null, .lost: self
        }
    }
}

/// A reply to be read from its beginning to its end, where the parser has put it; with others after it, if
/// more than one command was sent.
package struct RedisReplyCursor: Sendable {
    private let values: [RedisValue]
    private let text: [UInt8]
    private let second: Int
    private let third: Int
    private var position = 0

    /// - Parameters:
    ///   - values: of all replies.
    ///   - second: where the second begins, and so `third`.
    init(values: [RedisValue], text: [UInt8], second: Int, third: Int) {
        self.values = values
        self.text = text
        self.second = second
        self.third = third
    }

    /// Goes to the beginning of a reply, wherever another was left.
    ///
    /// - Parameter number: 0, 1 or 2.
    package mutating func goTo(reply number: Int) { position = number == 0 ? 0 : number == 1 ? second : third }

    /// The next value; after the last of a reply what comes is none of it.
    package mutating func next() -> RedisValue {
        guard position < values.count else { return .null }
        defer { position += 1 }
        return values[position]
    }

    package func bytes(of text: RedisValue.Text) -> ArraySlice<UInt8> {
        self.text[Int(text.start)..<Int(text.start) + Int(text.count)]
    }

    /// What the server says instead of a reply, or why there is none, before any of that is read.
    package var refusal: RedisError? {
        if position < values.count, case .lost(let error) = values[position] { return error }
        return refusalMessage.map { RedisError(refusal: $0) }
    }

    /// The server's own words.
    var refusalMessage: String? {
        guard position < values.count, case .error(let message) = values[position] else { return nil }
        return String(decoding: bytes(of: message), as: UTF8.self)
    }

    // MARK: Parts

    /// One of so many replies.
    func alone(_ number: Int, of count: Int) -> RedisReplyCursor {
        let starts = [0, second, third]
        let end = number + 1 < count ? starts[number + 1] : values.count
        return RedisReplyCursor(values: Array(values[starts[number]..<end]), text: text, second: 0, third: 0)
    }

    /// All of so many replies but the first.
    func withoutFirst(of count: Int) -> RedisReplyCursor {
        RedisReplyCursor(joining: (1..<count).map { alone($0, of: count) })
    }

    /// Of a part that has no reply.
    init(lost error: RedisError) { self.init(values: [.lost(error)], text: [], second: 0, third: 0) }

    /// Up to three replies, each of them alone, as one.
    init(joining replies: [RedisReplyCursor]) {
        var values: [RedisValue] = []
        var text: [UInt8] = []
        var starts: [Int] = []
        values.reserveCapacity(replies.reduce(0) { $0 + $1.values.count })
        for reply in replies {
            starts.append(values.count)
            for value in reply.values { values.append(value.moved(by: text.count)) }
            text += reply.text
        }
        self.init(
            values: values, text: text, second: starts.count > 1 ? starts[1] : 0,
            third: starts.count > 2 ? starts[2] : 0)
    }
}
