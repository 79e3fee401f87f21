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
        case .timeUncertain:
            "only this device's clock says that some of its messages are over: sign in, so that the server's is known"
        case .changed: "it was written to meanwhile"
        }
    }
}
