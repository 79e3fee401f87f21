import CloakroomMessages
import Foundation

/// One step of a chat, as it is typed.
struct ChatStep {
    enum Kind {
        case action(ChatAction, peers: [String])
        /// In seconds.
        case clock(Int)
    }

    let kind: Kind

    /// - Throws: ``UsageError``.
    init(_ line: String, peers: [String]) throws {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true).map(String.init)
        guard words.count > 1 else { throw UsageError("a step is a name and what to do: \(line)") }
        let rest = words.count > 2 ? words[2].trimmingCharacters(in: .whitespaces) : ""
        if words[0] == "clock" {
            guard rest.isEmpty else { throw UsageError("clock needs a time, such as 61m") }
            kind = .clock(try Self.seconds(words[1]))
            return
        }
        guard words[0] == "all" || peers.contains(words[0]) else {
            throw UsageError("\(words[0]) is none of the peers")
        }
        kind = .action(try Self.action(words[1], rest), peers: words[0] == "all" ? peers : [words[0]])
    }

    private static func action(_ verb: String, _ rest: String) throws -> ChatAction {
        let words = rest.split(separator: " ").map(String.init)
        switch (verb, words.count) {
        case ("policy", 1...3):
            guard ["history", "confirm"].starts(with: words.dropFirst()) else { break }
            return .policy(afterSent: try limit(words[0]), history: words.count > 1, isConfirmed: words.count > 2)
        case ("say", 1...): return .say(rest)
        case ("image", 1...): return .image(URL(fileURLWithPath: rest).path)
        case ("import", 1): return .importOlder(try folder(rest), isConfirmed: false)
        case ("import", 2...) where words.last == "confirm":
            return .importOlder(try folder(words.dropLast().joined(separator: " ")), isConfirmed: true)
        case ("import", 2...): return .importOlder(try folder(rest), isConfirmed: false)
        case ("show", 0): return .show
        case ("purge", 0): return .purge
        case ("release", 0): return .release
        case ("delete", 0): return .delete(isConfirmed: false)
        case ("delete", 1) where rest == "confirm": return .delete(isConfirmed: true)
        default: break
        }
        throw UsageError("there is no step \(verb) \(rest)")
    }

    private static func folder(_ path: String) throws -> String {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw UsageError("there is no folder \(path)")
        }
        return URL(fileURLWithPath: path, isDirectory: true).path
    }

    /// - Returns: seconds; `nil` for no limit.
    private static func limit(_ text: String) throws -> Int? {
        switch text {
        case "keep": return nil
        case "none": return 0
        default:
            let limit = try seconds(text)
            guard MessageRetentionPolicy(afterSent: .seconds(limit)) != nil, limit > 0 else {
                throw UsageError("\(text) is no time up to 365d")
            }
            return limit
        }
    }

    /// - Parameter text: a number and `s`, `m`, `h`, `d` or `w`.
    static func seconds(_ text: String) throws -> Int {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()), 0...100_000 ~= number
        else {
            throw UsageError("\(text) is no time such as 90s, 45m, 1h, 3d or 1w")
        }
        return number * unit
    }
}

/// What a peer does.
enum ChatAction: Codable {
    /// - Parameter afterSent: in seconds; `nil` for no limit.
    case policy(afterSent: Int?, history: Bool, isConfirmed: Bool)
    case say(String)
    /// The path of a file.
    case image(String)
    case show
    case purge
    case release
    case delete(isConfirmed: Bool)
    /// The path of a folder with a file of the older app for each peer.
    case importOlder(String, isConfirmed: Bool)
}
