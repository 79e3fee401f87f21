import Foundation
import Testing

@testable import CloakroomKit

@Suite struct OutboxFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func outbox(_ protect: @escaping @Sendable (URL) throws -> Void) throws -> OutboxFolder {
        try OutboxFolder(in: folder.url.appendingPathComponent("outbox"), owner: .test, protect: protect)
    }

    @Test func `a copy gets the outbox's own protection, whatever the original has`() async throws {
        let protected = Log<String>()
        let outbox = try outbox { url in
            // Its bytes are there: protection that a copy brings with it would come after an earlier call.
            let text = try String(contentsOf: url, encoding: .utf8)
            protected.append("\(url.lastPathComponent) \(text)")
        }
        _ = try await outbox.copy(try folder.write("photo.jpg", "one"), as: "1")
        _ = try await outbox.write(Data("two".utf8), as: "2")
        #expect(protected.all == ["1 one", "2 two"])
    }

    @Test func `a copy that cannot be protected is not added, and nothing is left of it`() async throws {
        let outbox = try outbox { _ in throw CocoaError(.fileWriteNoPermission) }
        let photo = try folder.write("photo.jpg", "one")
        let errors = await [
            #expect(throws: CloakroomError.self) { try await outbox.copy(photo, as: "1") },
            #expect(throws: CloakroomError.self) { try await outbox.write(Data("two".utf8), as: "2") },
        ]
        #expect(errors.map { $0?.code } == [.unwritableFile, .unwritableFile])
        #expect(try FileManager.default.contentsOfDirectory(atPath: outbox.files.path) == [])
    }
}
