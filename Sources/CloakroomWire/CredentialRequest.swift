package import CloakroomJSON

/// What a client may say when it requests credentials: which of its rights it wants, and for how long.
///
/// All of it only narrows. An unknown name is refused, so that a misspelled one does not grant everything.
package struct CredentialRequest: WireEncodable {
    /// The body is no JSON object of these members, or one of them is not what it should be.
    package struct ParsingError: Error, Sendable, Equatable {
        package init() {}
    }

    /// A name of the operator's; `nil` for what the tier has.
    package var scope: String?
    /// `nil` for what the tier has.
    package var lifetimeSeconds: Int?

    package init(scope: String? = nil, lifetimeSeconds: Int? = nil) {
        self.scope = scope
        self.lifetimeSeconds = lifetimeSeconds
    }

    /// - Parameter body: JSON; empty requests nothing in particular.
    package init(parsing body: [UInt8]) throws(ParsingError) {
        self.init()
        guard !body.isEmpty else { return }
        guard let json = try? JSON(parsing: body, maximumDepth: 4), let object = json.object else {
            throw ParsingError()
        }
        // null says nothing, as an absent member does.
        for member in object.members where member.value != .null || !Self.names.contains(member.name) {
            switch member.name {
            case "scope":
                guard let text = member.value.string else { throw ParsingError() }
                scope = text
            case "lifetimeSeconds":
                guard let number = member.value.integer else { throw ParsingError() }
                lifetimeSeconds = number
            default: throw ParsingError()
            }
        }
    }

    private static let names: Set<String> = ["scope", "lifetimeSeconds"]

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let scope { writer.member("scope", scope) }
        if let lifetimeSeconds { writer.member("lifetimeSeconds", lifetimeSeconds) }
        writer.endObject()
    }

    /// The same, where there is no body: names and values, not yet encoded.
    package var query: [(name: String, value: String)] {
        var query: [(name: String, value: String)] = []
        if let scope { query.append(("scope", scope)) }
        if let lifetimeSeconds { query.append(("lifetimeSeconds", String(lifetimeSeconds))) }
        return query
    }
}
