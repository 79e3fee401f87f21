package import CloakroomAWS
package import CloakroomServer

/// What a worker does behind the prefix of images of chats, by the action that allows it.
package enum ChatAction: String, Sendable, CaseIterable {
    case read = "s3:GetObject"
    case upload = "s3:PutObject"
    case abortUpload = "s3:AbortMultipartUpload"
    case listParts = "s3:ListMultipartUploadParts"
    case delete = "s3:DeleteObject"
    case tag = "s3:PutObjectTagging"

    /// Those of ``file(_:)``.
    package static func needed(_ mode: ReleaseMode) -> [ChatAction] {
        [.read, .upload, .abortUpload, .listParts, release(mode)]
    }

    package static func release(_ mode: ReleaseMode) -> ChatAction { mode == .delete ? .delete : .tag }

    /// The policy that has them.
    package static func file(_ mode: ReleaseMode) -> String {
        mode == .delete ? "deploy/iam/release-policy.json" : "deploy/iam/release-tag-policy.json"
    }

    /// As in a sentence: `s3:GetObject, s3:PutObject and s3:DeleteObject`.
    static func list(_ actions: [ChatAction]) -> String {
        let names = actions.map(\.rawValue)
        guard names.count > 1, let last = names.last else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }
}

extension Settings {
    /// What a policy allows the worker behind the prefix of images of chats; `nil` where there are none.
    package var chatPolicy: String? {
        uploads.chat.map { chat in
            "arn:\(vending.partition):s3:::\(bucket)/\(chat.keyPrefix)*"
                + " with \(ChatAction.list(ChatAction.needed(chat.mode)))"
                + " (uploads.chatKeyPrefix, \(ChatAction.file(chat.mode)))"
        }
    }
}
