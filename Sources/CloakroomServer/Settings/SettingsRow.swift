/// One key of the settings file: all that is known of it, said once.
package struct SettingsRow: Sendable {
    package enum Kind: Sendable {
        case text(TextShape)
        case integer(ClosedRange<Int>)
        /// The same, or null, which is not the default.
        case integerOrNull(ClosedRange<Int>)
        case flag
        case choice([String])
        /// At least one, unless the default is none.
        case texts(TextShape)
        /// A string, or where to find it: `{env: "NAME"}` or `{file: "path"}`.
        case textOrReference
        /// Only where to find it.
        case secret
        /// The same, but bytes, and strong enough to sign with.
        case signingKey
        /// The same, but a private key in PEM, of the kind that ES256 takes.
        case privateKey
        /// An array of such references, to what seals; each purpose makes other keys of the same secret.
        case sealingKeys(purpose: String)
        /// The same, to what makes release tokens.
        case releaseKeys
        /// A path; the file must be readable.
        case file
        /// Objects with keys of their own.
        case objects([SettingsRow])
        /// The same by name; the names are the operator's.
        case named(TextShape, [SettingsRow])
    }

    package enum Fallback: Sendable {
        case required
        case none
        case text(String)
        case integer(Int)
        case flag(Bool)
        case texts([String])
        /// Taken if the environment has it.
        case env(String)
    }

    /// Dots between the levels; within ``Kind/objects(_:)`` and ``Kind/named(_:_:)`` relative to the object.
    package let path: String
    package let kind: Kind
    package let fallback: Fallback
    package let sentence: String

    package init(_ path: String, _ kind: Kind, _ fallback: Fallback, _ sentence: String) {
        self.path = path
        self.kind = kind
        self.fallback = fallback
        self.sentence = sentence
    }
}

extension SettingsRow {
    /// What may stand there, for the manual and for faults.
    package var expected: String {
        switch kind {
        case .text(let shape): shape.expected
        case .integer(let range): "integer, \(range.lowerBound)…\(range.upperBound)"
        case .integerOrNull(let range): "integer, \(range.lowerBound)…\(range.upperBound), or null"
        case .flag: "true or false"
        case .choice(let names): "one of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        case .texts(let shape): "array, each: \(shape.expected)"
        case .textOrReference: "string, {env: \"NAME\"} or {file: \"path\"}"
        case .secret, .signingKey, .privateKey: "{env: \"NAME\"} or {file: \"path\"}"
        case .sealingKeys, .releaseKeys: "array, each: {env: \"NAME\"} or {file: \"path\"}"
        case .file: "path of a file"
        case .objects: "array of objects"
        case .named(let shape, _): "object of objects, each named by: \(shape.expected)"
        }
    }

    package var standard: String {
        switch fallback {
        case .required: "required"
        case .none: "null"
        case .text(let text): "\"\(text)\""
        case .integer(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .texts(let texts): "[" + texts.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
        case .env(let name): "{env: \"\(name)\"} if set"
        }
    }
}
