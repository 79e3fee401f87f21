import Foundation

/// What the chat sends to a peer: a line of JSON, with a line in return.
enum ChatRequest: Codable {
    /// Says what its user wants, as an app does at each connect.
    case connect
    case deliver(ChatFrame, from: String)
    case perform(ChatAction)
    /// In seconds, since the peer has started.
    case pass(Int)
}

struct ChatReply: Codable {
    /// For each of the other peers.
    var frames: [ChatFrame] = []
    /// For the user.
    var lines: [String] = []
    var hasFailed = false
}

/// What goes over the app's encrypted channel.
enum ChatFrame: Codable {
    case control(Data)
    case message(id: String, stamp: Data, body: Data, assetKey: String?)
}

/// What this app's messages are, for the library some bytes.
struct ChatBody: Codable {
    var text: String
    /// Of an image.
    var link: String?
}

/// Lines of a pipe.
final class ChatPipe {
    private let reading: FileHandle
    private let writing: FileHandle
    private var rest = Data()

    init(reading: FileHandle, writing: FileHandle) {
        self.reading = reading
        self.writing = writing
    }

    func write(_ value: some Encodable) throws {
        // JSON escapes line feeds.
        try writing.write(contentsOf: JSONEncoder().encode(value) + Data([UInt8(ascii: "\n")]))
    }

    /// For the other side this is the end.
    func endWriting() { try? writing.close() }

    /// Waits for a line.
    ///
    /// - Returns: `nil` at the end.
    func read<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest[..<end]
                rest = Data(rest[rest.index(after: end)...])
                return try JSONDecoder().decode(type, from: Data(line))
            }
            let more = reading.availableData
            guard !more.isEmpty else { return nil }
            rest += more
        }
    }
}
