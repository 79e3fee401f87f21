import CloakroomMessages
import Foundation

extension ChatPeer {
    /// Moves messages of an app from before the library, which had a JSON file for each session.
    func importOlder(_ folder: URL, isConfirmed: Bool) async throws {
        let policy = try await retention.retentionPolicy(in: conversation)
        let (conversation, peers) = (conversation, members.filter { $0 != name })
        let files = LegacyMessageFiles(in: folder) { name in
            guard peers.contains(name), let peer = ParticipantID(rawValue: name) else { return nil }
            return LegacySession(conversation: conversation, peer: peer, policy: policy)
        }
        let preview = try await retention.preview(of: files)
        let (count, ended) = (ChatOutput.language.messages(preview.messageCount), preview.endedCount)
        guard isConfirmed else {
            for file in preview.left { reply.lines.append("would stay: \(file.name), \(Self.why(file.reason))") }
            reply.lines.append(
                "would be moved here: \(count), and \(ended) are over; with confirm behind it, this moves them")
            return
        }
        let report = await retention.migrate(preview)
        for file in report.left { reply.lines.append("stays: \(file.name), \(Self.why(file.reason))") }
        reply.lines.append(
            "moved here: \(ChatOutput.language.messages(report.importedCount)), here before: \(report.knownCount), "
                + "over: \(report.endedCount), files erased: \(report.erasedFileCount)")
        if let error = report.stoppedBy { throw error }
        reply.hasFailed = !report.left.isEmpty
    }

    private static func why(_ reason: LegacyFileLeft.Reason) -> String {
        switch reason {
        case .otherFile: "it is no file with a name that ends in .json"
        case .unknownSession: "none of the other peers has this name"
        case .unreadable(let error): "\(error)"
        case .damaged(let why): why
        case .nothingStored: "nothing would be stored: set a policy first"
        case .timeUncertain: "its messages have an end, and the server's time is not known before a request"
        case .endTooLate: "a message is to end more than a year after it was sent: set a policy that ends it"
        case .conflicting: "a message is stored, or in another file, with another content"
        case .notStored: "a message is here in memory only, or cannot be read"
        case .endedSincePreview: "messages have ended since they were counted: repeat it"
        case .nameTaken(let name): "move \(name) elsewhere, whose name is needed"
        case .changed: "it was written to meanwhile"
        }
    }
}
