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
    package var chatPolicy: String? { uploads.chat.map { chatPolicy($0, ChatAction.needed($0.mode)) } }

    /// - Parameter actions: empty for all that the policy's file has.
    fileprivate func chatPolicy(_ chat: Chat, _ actions: [ChatAction]) -> String {
        "arn:\(vending.partition):s3:::\(bucket)/\(chat.keyPrefix)*"
            + (actions.isEmpty ? "" : " with \(ChatAction.list(actions))")
            + " (uploads.chatKeyPrefix, \(ChatAction.file(chat.mode)))"
    }
}

/// What becomes of the policies for images of chats when settings take the place of others.
struct ChatPolicyChange {
    /// What they have to allow besides; `nil` for nothing.
    private(set) var added: String?
    /// What they still have to allow for a while, and until when; `nil` for nothing.
    private(set) var kept: String?

    /// S3 expires at the midnight after the days, and deletes some time later.
    private static let margin = 2

    init(from former: Settings, to settings: Settings) {
        guard let before = former.uploads.chat else {
            added = settings.chatPolicy
            return
        }
        guard let after = settings.uploads.chat, former.bucket == settings.bucket, before.keyPrefix == after.keyPrefix
        else {
            added = settings.chatPolicy
            kept =
                "Policies of the worker and of the CDN still have to allow \(former.chatPolicy(before, [])) until"
                + " \(before.retentionDays + Self.margin) days after every worker runs with the new settings: images there are"
                + " read until then. Its lifecycle rules and the CDN's behavior without caching have to stay as long"
            return
        }
        guard before.mode != after.mode else { return }
        added = settings.chatPolicy(after, [.release(after.mode)])
        kept =
            "Policies still have to allow \(former.chatPolicy(before, [.release(before.mode)])) until every worker runs with"
            + " the new settings"
    }
}
