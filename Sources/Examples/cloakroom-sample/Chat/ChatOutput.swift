import CloakroomKit
import CloakroomMessages
import Foundation

/// How a chat looks, and failures with a way out.
enum ChatOutput {
    static let language = RetentionLanguage(locale: Locale(identifier: "en_US"))

    static func text(of body: Data) -> String {
        // Those of the older app are text alone.
        guard let content = try? JSONDecoder().decode(ChatBody.self, from: body) else {
            return String(decoding: body, as: UTF8.self)
        }
        return [content.text, content.link].compactMap { $0 }.joined(separator: " ")
    }

    static func line(_ message: StoredMessage) -> String {
        let end = message.isStored ? message.expiration.map { $0.formatted(.iso8601) } : "the chat closes"
        return "\(message.author.rawValue): \(text(of: message.body))" + (end.map { " (until \($0))" } ?? "")
    }

    static func end(of report: PurgeReport, _ reply: inout ChatReply) {
        let count = language.messages(report.purgedCount)
        reply.lines.append("purged: \(count), images to release: \(report.releaseCount)")
        if report.isRotationPending { reply.lines.append("keys are replaced by a purge in a minute") }
        if report.isCheckpointPending { reply.lines.append("the log is emptied by the next purge") }
        guard let error = report.stoppedBy else { return }
        reply.lines.append("ended early: \(language.failure(error))")
        reply.hasFailed = true
    }

    static func printError(_ error: CloakroomError, of name: String) {
        Console.printError("\(name): \(error)" + (advice(error).map { "; \($0)" } ?? ""))
    }

    /// What is to be done about a failure; `nil` where its message says it, or where nothing can be.
    private static func advice(_ error: CloakroomError) -> String? {
        switch error.code {
        case .unauthorized, .sessionRevoked, .tokenUnavailable:
            "sign the peer in: cloakroom-sample sign-in --state FOLDER/NAME …"
        case .chatNotEnabled: "the worker's settings need uploads.chatKeyPrefix and release.keys"
        case .storeInUse: "wait until the other chat has ended"
        case .diskFull: "make room, then run the step again"
        default: error.isRetryable ? "run the step again" : nil
        }
    }
}
