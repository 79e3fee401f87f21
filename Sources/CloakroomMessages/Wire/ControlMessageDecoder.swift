import CloakroomJSON
import CloakroomKit
import Foundation

/// Reads a control message, or finds that it is none.
struct ControlMessageDecoder {
    let data: Data
    let sender: AuthenticatedSender

    private static let legacyKind = "retention_policy_sync"
    private static let kind = "retention"
    /// Larger bytes are not looked into: no app has sent control messages of that size.
    private static let largestToLookInto = 65_536

    func message() throws -> RetentionPolicyMessage? {
        guard data.count <= Self.largestToLookInto, isObject else { return nil }
        let object: JSON.Object
        do {
            guard let parsed = try JSON(parsing: Array(data)).object else { return nil }
            object = parsed
        } catch {
            // Not readable, so its kind is not known for sure.
            guard saysKind else { return nil }
            throw refusal("it is not JSON, or has a name twice")
        }
        let isLegacy = object["type"]?.string == Self.legacyKind
        guard isLegacy || object["kind"]?.string == Self.kind else { return nil }
        guard data.count <= RetentionPolicyMessage.maximumSize else { throw refusal("it is too large") }
        let register = isLegacy ? try legacy(object) : try current(object)
        return RetentionPolicyMessage(register, of: sender.participant, in: sender.conversation, data: data)
    }

    /// Whether it says that it is one of the older app's, right or not.
    var isLegacy: Bool { (try? JSON(parsing: Array(data)))?.object?["type"]?.string == Self.legacyKind }

    private var isObject: Bool {
        data.first { ![0x20, 0x0A, 0x0D, 0x09].contains($0) } == UInt8(ascii: "{")
    }

    private var saysKind: Bool {
        [Self.legacyKind, Self.kind].contains { data.range(of: Data("\"\($0)\"".utf8)) != nil }
    }

    private func refusal(_ why: String) -> CloakroomError {
        CloakroomError(.invalidControlMessage, "a control message was refused: \(why)")
    }

    // MARK: The present format

    /// - Returns: `nil` when it is of a later version.
    private func current(_ object: JSON.Object) throws -> RetentionRegister? {
        guard let version = object["v"]?.integer, version >= 1 else { throw refusal("it has no version") }
        guard version == 1 else { return nil }
        guard let author = object["author"]?.string, author.hasSameBytes(as: sender.participant.rawValue) else {
            throw refusal("its author is not its sender")
        }
        guard let conversation = object["conversation"]?.string,
            conversation.hasSameBytes(as: sender.conversation.rawValue)
        else { throw refusal("it is of another conversation") }
        guard let number = object["version"]?.integer, let version = RegisterVersion(Int64(number)) else {
            throw refusal("its policy has no version from 1 to 2^53 - 1")
        }
        guard let policy = object["policy"]?.object?.policy else {
            throw refusal("its policy is not null or whole seconds up to a year")
        }
        return RetentionRegister(version: version, policy: policy, cuts: try cuts(object["cuts"]))
    }

    private func cuts(_ json: JSON?) throws -> RetentionCuts {
        guard let elements = json?.array, elements.count <= RetentionCuts.durations.count else {
            throw refusal("it has no list of up to 16 cuts")
        }
        var cuts = RetentionCuts()
        var durations: Set<Int> = []
        for element in elements {
            guard let seconds = element.object?["afterSentSeconds"]?.integer, durations.insert(seconds).inserted,
                let before = element.object?["beforeMilliseconds"]?.integer,
                (0...Milliseconds.latestTime).contains(Int64(before)),
                cuts.add(RetentionCuts.Cut(seconds: Int64(seconds), before: Int64(before)))
            else { throw refusal("a cut has another duration than the 16, the same as another, or no time") }
        }
        return cuts
    }

    // MARK: The first app's format

    private func legacy(_ object: JSON.Object) throws -> RetentionRegister {
        guard let policy = object["policy"].flatMap(Self.legacyPolicy) else { throw refusal("its policy is unknown") }
        guard let timestamp = object["timestamp"]?.number, abs(timestamp) < 1e13 else {
            throw refusal("it has no time")
        }
        let time = Milliseconds(Date(timeIntervalSinceReferenceDate: timestamp))
        return RetentionRegister(version: RegisterVersion(legacyTime: time), policy: policy)
    }

    /// Swift writes an enum as its raw value, or without one as an object with its case's name.
    private static func legacyPolicy(_ json: JSON) -> MessageRetentionPolicy? {
        if let seconds = json.integer {
            return MessageRetentionPolicy(afterSent: .seconds(min(max(seconds, -1), 1 << 40)))
        }
        let members = json.object?.members ?? []
        guard let name = json.string ?? (members.count == 1 ? members[0].name : nil), name.utf8.count <= 32 else {
            return nil
        }
        switch name.lowercased().filter({ $0.isLetter || $0.isNumber }) {
        case "nostorage", "none", "ephemeral": return .noStorage
        case "onehour", "1hour", "1h", "hour": return .oneHour
        case "24hours", "twentyfourhours", "24h", "oneday", "1day", "1d", "day": return .oneDay
        case "oneweek", "1week", "1w", "week", "7days", "sevendays", "7d": return .oneWeek
        default: return nil
        }
    }
}

extension JSON.Object {
    /// From the member `afterSentSeconds`, which must be there.
    var policy: MessageRetentionPolicy? {
        switch self["afterSentSeconds"] {
        case .null: .keep
        case .some(let json):
            json.integer.flatMap {
                (0...31_536_000).contains($0) ? MessageRetentionPolicy(afterSent: .seconds($0)) : nil
            }
        case .none: nil
        }
    }
}
