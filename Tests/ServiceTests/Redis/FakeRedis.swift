import CloakroomLoop

@testable import CloakroomRedis

/// A Redis that replies as a test says, and keeps what it was sent.
@LoopActor
final class FakeRedis: RedisClient {
    let isReady = true
    let refusal: RedisError? = nil
    let currentServers: [RedisAddress] = []
    var onRepeat: (@LoopActor () -> Void)?

    /// The words of each request; of one of several commands those of the first.
    private(set) var requests: [[String]] = []
    private var replies: [String]
    private var waiting: [@LoopActor (RedisResponse) -> Void] = []

    /// - Parameter replies: in RESP, one text to each request; those beyond wait for ``reply(_:)``.
    init(_ replies: [String] = []) { self.replies = replies }

    var pendingCount: Int { waiting.count }

    func reply(_ more: [String]) {
        replies += more
        serve()
    }

    func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        requests.append(Self.words(of: request))
        waiting.append(completion)
        serve()
    }

    private func serve() {
        while !waiting.isEmpty, !replies.isEmpty {
            let (completion, reply) = (waiting.removeFirst(), replies.removeFirst())
            EventPoller.shared.atTurnEnd { completion(.reply(RedisReplyCursor(reading: reply))) }
        }
    }

    /// A command is an array of texts itself.
    private static func words(of request: RedisRequest) -> [String] {
        var cursor = RedisReplyCursor(reading: String(decoding: request.bytes, as: UTF8.self))
        guard case .array(let words) = RedisReply(&cursor) else { return [] }
        return words.compactMap { word in
            if case .text(let bytes) = word { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }

    func settle(within limit: Duration) async {}
    func close() {}
}

extension RedisReplyCursor {
    /// - Parameter text: one to three replies in RESP.
    init(reading text: String) {
        let parser = RedisReplyParser()
        _ = Array(text.utf8).withUnsafeBytes { parser.feed($0) }
        while parser.next() == .reply {}
        self = parser.cursor
    }
}

extension String {
    /// An array of texts in RESP; `nil` is null.
    static func redisArray(_ texts: [String?]) -> String {
        "*\(texts.count)\r\n" + texts.map(redisText).joined()
    }

    static func redisText(_ text: String?) -> String { text.map { "$\($0.utf8.count)\r\n\($0)\r\n" } ?? "$-1\r\n" }
}
