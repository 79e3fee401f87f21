import CloakroomKit
import CloakroomKitTesting
import Foundation

/// What an app's own test has: a server, a folder, and the user's parts of the kit.
final class TestApp: Sendable {
    let server: TestServer
    let folder: URL

    init(_ options: TestServer.Options = TestServer.Options()) throws {
        server = TestServer(options: options)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-testing-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func cloakroom(of user: String = "u_1", tokens: (any TokenProvider)? = nil) throws -> Cloakroom {
        try Cloakroom(
            configuration: server.configuration(folder: folder.appendingPathComponent("state")), user: user,
            tokens: tokens ?? server.tokens(forUser: user))
    }

    /// Photos with different bytes.
    func photos(_ count: Int, byteCount: Int = 100) throws -> [URL] {
        try (0..<count).map { number in
            let file = folder.appendingPathComponent("\(number).jpg")
            try Data(repeating: UInt8(truncatingIfNeeded: number), count: byteCount + number).write(to: file)
            return file
        }
    }
}

func code(_ body: () async throws -> Void) async -> CloakroomError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CloakroomError)?.code
    }
}
