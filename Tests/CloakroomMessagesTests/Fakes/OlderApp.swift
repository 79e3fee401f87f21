@testable import CloakroomMessages
import Foundation

/// The files of an app from before the library.
struct OlderApp {
    let folder: URL

    init(in place: URL) throws {
        folder = place.appendingPathComponent("older", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// As a `JSONEncoder` writes it.
    ///
    /// - Parameters:
    ///   - until: since 1970, in milliseconds.
    ///   - more: members, with a comma in front.
    func message(
        _ id: String, sentAt: Milliseconds, until: Milliseconds? = nil, isOwn: Bool = false, text: String? = nil,
        more: String = ""
    ) -> String {
        let end = until.map { #","expiresAt":\#(Self.seconds($0))"# } ?? ""
        let content = #""id":"\#(id)","text":"\#(text ?? Self.text(id))","isFromSelf":\#(isOwn)"#
        return #"{\#(content),"timestamp":\#(Self.seconds(sentAt))\#(end)\#(more)}"#
    }

    static func text(_ id: String) -> String { "the text of \(id), which must not be found" }

    private static func seconds(_ time: Milliseconds) -> Double { time.date.timeIntervalSinceReferenceDate }

    func write(_ name: String, _ messages: [String]) throws {
        try write(name, "[\(messages.joined(separator: ","))]")
    }

    func write(_ name: String, _ content: String) throws { try Data(content.utf8).write(to: file(name)) }

    func file(_ name: String) -> URL { folder.appendingPathComponent("\(name).json", isDirectory: false) }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }
}
