import CloakroomAWS
import CloakroomServer

/// What a deployment expects of its bucket's lifecycle for images of chats.
package struct ChatTerms: Sendable, Equatable {
    /// Ends in `/`; no other rule of the settings is for it.
    package var prefix: String
    /// After how many days what is not released ends.
    package var retentionDays: Int
    /// Whether released images get a tag now.
    package var isTagged: Bool

    package init(prefix: String, retentionDays: Int, isTagged: Bool) {
        self.prefix = prefix
        self.retentionDays = retentionDays
        self.isTagged = isTagged
    }

    init(_ chat: Settings.Chat) {
        self.init(prefix: chat.keyPrefix, retentionDays: chat.retentionDays, isTagged: chat.mode == .tag)
    }

    /// The rule for the tag of released images, in both modes: what got its tag before the mode changed ends by it too. It
    /// can neither end uploads nor remove delete markers (S3 User Guide, "Lifecycle configuration elements").
    var tagRule: LifecycleRule {
        let tag = XMLNode("Tag", [XMLNode("Key", ReleaseTag.key), XMLNode("Value", ReleaseTag.value)])
        return LifecycleRule(
            xml: XMLNode(
                "Rule",
                [
                    XMLNode("ID", "expire-after-\(ReleaseTag.days)-days-released-\(prefix)"),
                    XMLNode("Filter", [XMLNode("And", [XMLNode("Prefix", prefix), tag])]),
                    XMLNode("Status", "Enabled"),
                    XMLNode("Expiration", [XMLNode("Days", String(ReleaseTag.days))]),
                ]))
    }
}

extension LifecycleRule.Filter {
    /// Whether it is for released images alone.
    var isOfReleased: Bool { tags == [Tag(key: ReleaseTag.key, value: ReleaseTag.value)] }
}
