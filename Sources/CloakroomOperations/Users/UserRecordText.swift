package import CloakroomServer
import CloakroomWire
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension UserRecord {
    /// One JSON object on one line; what the record does not say is left out.
    ///
    /// - Parameter isTierUnknown: whether the settings lack the tier.
    package func json(of user: UserID, isTierUnknown: Bool = false) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in values(of: user) {
            writer.name(name)
            switch value {
            case .text(let text): writer.string(text)
            case .number(let number): writer.integer(number)
            case .flag(let flag): writer.bool(flag)
            }
        }
        if isTierUnknown {
            writer.name("tierIsUnknown")
            writer.bool(true)
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// One line for each thing that the record says.
    ///
    /// - Parameter isTierUnknown: whether the settings lack the tier.
    package func lines(of user: UserID, isTierUnknown: Bool = false) -> String {
        values(of: user).map { name, value in
            let text =
                switch value {
                case .text(let text): text
                case .number(let number): String(number)
                case .flag(let flag): flag ? "yes" : "no"
                }
            return name.padding(to: 20) + text + (name == "tier" && isTierUnknown ? " (not in the settings)" : "")
        }.joined(separator: "\n")
    }

    /// The same on one line, for a table.
    ///
    /// - Parameter isTierUnknown: whether the settings lack the tier.
    package func row(of user: UserID, isTierUnknown: Bool = false) -> String {
        let limit = storageLimit.map { $0 == .max ? Self.unlimited : String($0) }
        let columns = [
            user.text.padding(to: 40), (tier ?? "-").padding(to: 12),
            (subscriptionEnd?.wireText ?? "-").padding(to: 21), String(storageUsed).padding(to: 14),
            (limit ?? "-").padding(to: 14),
            (isDisabled ? "disabled" : "enabled") + (isTierUnknown ? ", tier not in the settings" : ""),
        ]
        return columns.joined(separator: " ")
    }

    /// What stands above ``row(of:)``.
    package static let heading =
        [
            "user".padding(to: 40), "tier".padding(to: 12), "subscriptionEnd".padding(to: 21),
            "storageUsed".padding(to: 14),
        ]
        .joined(separator: " ") + " " + "storageLimit".padding(to: 14) + " state"

    private enum Value {
        case text(String)
        case number(Int)
        case flag(Bool)
    }

    private func values(of user: UserID) -> [(String, Value)] {
        let all: [(String, Value?)] = [
            ("user", .text(user.text)), ("tier", tier.map { .text($0) }),
            ("subscriptionEnd", subscriptionEnd.map { .text($0.wireText) }), ("storageUsed", .number(storageUsed)),
            ("storageLimit", storageLimit.map { $0 == .max ? .text(Self.unlimited) : .number($0) }),
            ("disabled", .flag(isDisabled)), ("disabledReason", disabledReason.map { .text($0) }),
            ("revokedBefore", revokedBefore.map { .text($0.wireText) }),
            ("acceptUndatedTokens", acceptsUndatedTokens ? .flag(true) : nil),
            ("updated", updated.map { .text($0.wireText) }),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
