import Foundation

/// The one temporary folder of a test run: sockets, settings, logs. Its path is short, because a socket's has at most
/// 107 bytes (unix(7)).
enum RunFolder {
    static let path: String = {
        var template = Array("/tmp/cloakroom-e2e.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("mkdtemp: errno \(errno)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    private static let counter = Counter()

    /// A new folder for one stack.
    static func make(_ name: String) throws -> String {
        let folder = "\(path)/\(counter.next())-\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Every file of the run with this ending, with its path.
    static func files(endingIn ending: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(ending) }.map { "\(path)/\($0)" }.sorted()
    }

    static func text(of file: String) -> String {
        String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
    }

    static func remove() { try? FileManager.default.removeItem(atPath: path) }
}
