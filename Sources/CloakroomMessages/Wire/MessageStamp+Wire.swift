import CloakroomJSON
import CloakroomKit
public import Foundation

extension MessageStamp {
    /// As it goes with a message: JSON, such as `{"v":1,"afterSentSeconds":3600,"ageMilliseconds":120}`.
    public var data: Data {
        var writer = JSONWriter(capacity: 80)
        writer.beginObject()
        writer.name("v")
        writer.integer(1)
        writer.limit(of: policy)
        writer.name("ageMilliseconds")
        writer.integer(Int(Milliseconds(age).asTime))
        writer.endObject()
        return Data(writer.bytes)
    }

    /// Reads a stamp that has arrived.
    ///
    /// - Returns: `nil` for one of a later version of the protocol. The message is then best admitted with the policy
    ///   ``MessageRetentionPolicy/keep``: what this user wants still holds for it.
    /// - Throws: ``CloakroomError/Code/invalidControlMessage`` for anything else: admit the message the same way.
    public static func decoded(_ data: Data) throws -> Self? {
        guard data.count <= RetentionPolicyMessage.maximumSize, let object = try? JSON(parsing: Array(data)).object,
            let version = object["v"]?.integer, version >= 1
        else { throw CloakroomError(.invalidControlMessage, "the stamp of a message is no JSON with a version") }
        guard version == 1 else { return nil }
        guard let policy = object.policy, let age = object["ageMilliseconds"]?.integer,
            (0...Milliseconds.latestTime).contains(Int64(age))
        else { throw CloakroomError(.invalidControlMessage, "the stamp of a message has no policy or no age") }
        return Self(policy: policy, age: .milliseconds(age))
    }
}
