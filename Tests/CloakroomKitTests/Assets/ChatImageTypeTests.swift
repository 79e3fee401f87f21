import CloakroomKitTestSupport
import Foundation
import Testing

/// What does not compile, so that no image of a chat is ever renewed.
@Suite struct ChatImageTypeTests {
    /// The lines that are expected to be refused end in a comment.
    private static let source = """
        import CloakroomKit
        import Foundation

        func keep(_ uploads: AssetUploader, _ bytes: UploadContent) async throws -> [RenewableAsset] {
            [
                try await uploads.uploadGroupImage(bytes, conversationID: "c"),
                try await uploads.uploadProfileAvatar(bytes, conversationID: "c", inboxID: "i"),
                try await uploads.uploadChatImage(bytes),  // another type
            ]
        }
        func link(_ image: ChatImage) -> String { image.link }
        func renew(_ image: ChatImage) -> RenewableAsset {
            .groupImage(url: image.link, conversationID: "c")  // no URL
        }
        func renew(_ image: ChatImage, by recovery: AssetRecovery) async {
            await recovery.handleRenewedAssets([image], at: .now)  // another type
        }
        """

    @Test func `an image of a chat cannot be made one that is renewed`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).swift")
        try Data(Self.source.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let errors = try await Self.errors(in: file)
        let expected = Self.source.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { $0.element.contains("//") }.map { $0.offset + 1 }
        #expect(errors == expected)
    }

    /// - Returns: the lines with an error, by a compiler that sees what an app sees.
    private static func errors(in file: URL) async throws -> [Int] {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let modules = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("Modules")
        let maps = ["CloakroomCOpenSSL", "CloakroomCSQLite"].flatMap { name in
            ["-Xcc", "-fmodule-map-file=\(package.path)/Sources/\(name)/module.modulemap"]
        }
        let run = try await ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"),
            ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules.path] + maps + [file.path])
        let lines = run.output.split(separator: "\n").compactMap { line -> Int? in
            let parts = line.split(separator: ":", maxSplits: 4)
            guard parts.count == 5, parts[0] == file.path, parts[3] == " error" else { return nil }
            return Int(parts[1])
        }
        return Set(lines).sorted()
    }
}
