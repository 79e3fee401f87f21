import CloakroomKit
import Foundation

extension HTTPRequest {
    static func get(
        _ url: String, into destination: HTTPDestination = .memory(maximumBytes: 1 << 20),
        timeout: Duration = .seconds(30), idleTimeout: Duration = .seconds(30)
    ) -> HTTPRequest {
        HTTPRequest(
            method: "GET", url: URL(string: url)!, destination: destination, timeout: timeout, idleTimeout: idleTimeout)
    }

    static func put(_ url: String, _ body: HTTPBody) -> HTTPRequest {
        HTTPRequest(method: "PUT", url: URL(string: url)!, body: body)
    }
}

/// A response of 200 with a length.
func ok(_ body: String = "", _ fields: String...) -> String {
    (["HTTP/1.1 200 OK", "Content-Length: \(body.utf8.count)"] + fields).map { $0 + "\r\n" }.joined() + "\r\n" + body
}

/// A folder of its own for a test, gone when it ends.
func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("transport-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

/// Bytes that differ from place to place, so that pieces out of order are seen: their period is a prime.
func pattern(_ count: Int) -> Data {
    let block = Data((0..<65_521).map { UInt8(truncatingIfNeeded: ($0 &* $0) >> 3) })
    var whole = Data(capacity: count + block.count)
    while whole.count < count { whole.append(block) }
    return whole.prefix(count)
}

/// What comes from any thread, and what to do when it is told.
final class Recorder<Element: Sendable>: @unchecked Sendable {
    // All of it is under `lock`.
    private let lock = NSLock()
    private var elements: [Element] = []
    private var action: (@Sendable () -> Void)?

    func append(_ element: Element) { lock.withLock { elements.append(element) } }
    var all: [Element] { lock.withLock { elements } }

    func whenTold(_ action: @escaping @Sendable () -> Void) { lock.withLock { self.action = action } }
    func tell() { lock.withLock { action }?() }
}
