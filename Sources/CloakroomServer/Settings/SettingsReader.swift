import CloakroomCrypto
import CloakroomSignatures
import CloakroomJOSE
import CloakroomJSON

/// Walks a settings tree along the table: values where they are right, faults where they are not.
struct SettingsReader {
    let environment: [String: String]
    let readFile: (String) -> [UInt8]?
    /// Called with the whole path of each key whose value is read later on.
    var onRead: ((String) -> Void)?
    private(set) var faults: [SettingsError] = []

    init(environment: [String: String], readFile: @escaping (String) -> [UInt8]?) {
        self.environment = environment
        self.readFile = readFile
    }

    /// - Parameter pathPrefix: what stands before the rows' paths in a fault, such as `tokens.issuers[0].`.
    /// - Returns: a value for each row without a fault.
    mutating func read(_ rows: [SettingsRow], from tree: JSON.Object, at pathPrefix: String = "") -> SettingsEntries {
        faults += UnknownKeys(rows: rows, pathPrefix: pathPrefix).faults(in: tree)
        var values = SettingsEntries(pathPrefix: pathPrefix, onRead: onRead)
        for row in rows {
            do throws(SettingsError) {
                let json = lookUp(row.path, in: tree)
                values.values[row.path] = try value(of: row, json, at: pathPrefix + row.path)
            } catch {
                faults.append(error)
            }
        }
        return values
    }

    /// What stands there; a group that is no object is told of by ``UnknownKeys``.
    private func lookUp(_ path: String, in tree: JSON.Object) -> JSON? {
        path.split(separator: ".").reduce(.object(tree)) { json, name in json?.object?[String(name)] }
    }

    private mutating func value(of row: SettingsRow, _ json: JSON?, at path: String) throws(SettingsError)
        -> SettingsValue
    {
        guard let json, json != .null || !row.acceptsNull else { return try standard(row, at: path) }
        let wrong = SettingsError(path, "is \(json.kindOfThing)", "give: \(row.expected)")
        switch row.kind {
        case .text(let shape):
            guard let text = json.string else { throw wrong }
            guard shape.accepts(text) else { throw SettingsError(path, "is \(json.text)", "give: \(row.expected)") }
            return .text(text)
        case .integer(let range):
            return .integer(try integer(json, range, row, at: path, otherwise: wrong))
        case .integerOrNull(let range):
            guard json != .null else { return .absent }
            return .integer(try integer(json, range, row, at: path, otherwise: wrong))
        case .flag:
            guard let flag = json.bool else { throw wrong }
            return .flag(flag)
        case .choice(let names):
            guard let text = json.string else { throw wrong }
            guard names.contains(text) else { throw SettingsError(path, "is \(json.text)", "give: \(row.expected)") }
            return .text(text)
        case .texts(let shape):
            guard let texts = json.strings else { throw wrong }
            guard !texts.isEmpty || row.isEmptyByDefault else {
                throw SettingsError(path, "is empty", "give: \(row.expected)")
            }
            for (index, text) in texts.enumerated() where !shape.accepts(text) {
                throw SettingsError("\(path)[\(index)]", "is \(JSON.string(text).text)", "give: \(shape.expected)")
            }
            return .texts(texts)
        case .file:
            guard let name = json.string else { throw wrong }
            return .file(path: name, bytes: try contents(of: name, for: path))
        case .objects(let rows):
            return .objects(try objects(json, rows, at: path, otherwise: wrong))
        case .named(let shape, let rows):
            return .named(try named(json, shape, rows, at: path, otherwise: wrong))
        case .textOrReference:
            if let text = json.string, !text.isEmpty { return .text(text) }
            guard let bytes = try referenced(json, row, at: path) else { return .absent }
            return .text(try text(bytes, at: path))
        case .secret:
            guard let bytes = try referenced(json, row, at: path) else { return .absent }
            return .secret(Secret(try text(bytes, at: path)))
        case .signingKey:
            guard let bytes = try referenced(json, row, at: path) else { return .absent }
            return .key(try signingKey(bytes, at: path))
        case .privateKey:
            guard let bytes = try referenced(json, row, at: path) else { return .absent }
            return .privateKey(try privateKey(bytes, at: path))
        case .sealingKeys(let purpose):
            let secrets = try secrets(json, row, at: path, "the first seals, all open", otherwise: wrong)
            return .sealingKeys(secrets.map { SealingKey(from: $0, purpose: purpose) })
        case .releaseKeys:
            let secrets = try secrets(json, row, at: path, "the first signs, all verify", otherwise: wrong)
            return .releaseKeys(secrets.map { ReleaseKey(from: $0) })
        }
    }

    private func integer(
        _ json: JSON, _ range: ClosedRange<Int>, _ row: SettingsRow, at path: String, otherwise wrong: SettingsError
    ) throws(SettingsError) -> Int {
        guard let number = json.integer else { throw wrong }
        guard range.contains(number) else {
            throw SettingsError(path, "is \(number), out of range", "give: \(row.expected)")
        }
        return number
    }

    private mutating func objects(
        _ json: JSON, _ rows: [SettingsRow], at path: String, otherwise wrong: SettingsError
    ) throws(SettingsError) -> [SettingsEntries] {
        guard let elements = json.array else { throw wrong }
        guard !elements.isEmpty else { throw SettingsError(path, "is empty", "add at least one object") }
        var objects: [SettingsEntries] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else {
                throw SettingsError("\(path)[\(index)]", "is \(element.kindOfThing)", "give: an object")
            }
            objects.append(read(rows, from: object, at: "\(path)[\(index)]."))
        }
        return objects
    }

    private mutating func named(
        _ json: JSON, _ shape: TextShape, _ rows: [SettingsRow], at path: String, otherwise wrong: SettingsError
    ) throws(SettingsError) -> [(name: String, values: SettingsEntries)] {
        guard let members = json.object?.members else { throw wrong }
        guard !members.isEmpty else { throw SettingsError(path, "is empty", "add an object, or leave it out") }
        var named: [(name: String, values: SettingsEntries)] = []
        for member in members {
            guard shape.accepts(member.name) else {
                throw SettingsError(path, "has the name \(JSON.string(member.name).text)", "give: \(shape.expected)")
            }
            guard let object = member.value.object else {
                throw SettingsError("\(path).\(member.name)", "is \(member.value.kindOfThing)", "give: an object")
            }
            named.append((member.name, read(rows, from: object, at: "\(path).\(member.name).")))
        }
        return named
    }

    private func standard(_ row: SettingsRow, at path: String) throws(SettingsError) -> SettingsValue {
        switch row.fallback {
        case .required: throw SettingsError(path, "is missing", "give: \(row.expected). \(row.sentence)")
        case .none: return .absent
        case .text(let text): return .text(text)
        case .integer(let number): return .integer(number)
        case .flag(let flag): return .flag(flag)
        case .texts(let texts): return .texts(texts)
        case .env(let name):
            guard let text = environment[name], !text.isEmpty else { return .absent }
            if case .secret = row.kind { return .secret(Secret(text)) }
            return .text(text)
        }
    }

    /// - Returns: `nil` where the default is a variable of the environment, and the environment lacks it.
    private func referenced(_ json: JSON, _ row: SettingsRow, at path: String) throws(SettingsError) -> [UInt8]? {
        guard let reference = json.object, reference.members.count == 1, let member = reference.members.first,
            let name = member.value.string, !name.isEmpty
        else {
            if case .string = json, !row.acceptsPlainText {
                throw SettingsError(
                    path, "is a secret written in the file as plain text",
                    "change the secret, keep it elsewhere, and give: \(row.expected)")
            }
            throw SettingsError(path, "is \(json.kindOfThing)", "give: \(row.expected)")
        }
        switch member.name {
        case "env":
            if let text = environment[name], !text.isEmpty { return Array(text.utf8) }
            if case .env(name) = row.fallback { return nil }
            throw SettingsError(path, "names \(name), which the environment lacks", "set it where the worker starts")
        case "file":
            return try contents(of: name, for: path)
        default:
            throw SettingsError("\(path).\(member.name)", "is not a key", "give: \(row.expected)")
        }
    }

    private func contents(of name: String, for path: String) throws(SettingsError) -> [UInt8] {
        guard var bytes = readFile(name) else {
            throw SettingsError(
                path, "names the file \(name), which cannot be read", "create it, or let the worker read it")
        }
        // Editors and `echo` end a file with a line feed that is no part of a secret.
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else {
            throw SettingsError(path, "names the file \(name), which is empty", "put the value in it")
        }
        return bytes
    }

    private func text(_ bytes: [UInt8], at path: String) throws(SettingsError) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes), bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SettingsError(path, "has control characters or is not UTF-8", "keep one line of text there")
        }
        return text
    }

    private func privateKey(_ bytes: [UInt8], at path: String) throws(SettingsError) -> PrivateKey {
        let remedy = "make one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"
        let key: PrivateKey
        do throws(KeyError) {
            key = try PrivateKey(pem: bytes)
            // Signs once, to see that its halves belong together.
            _ = try TokenSigningKey(key)
        } catch {
            throw SettingsError(path, "\(error)", remedy)
        }
        guard key.publicKey.fits(.ecdsa(.sha256)) else { throw SettingsError(path, "is no key for ES256", remedy) }
        return key
    }

    /// A list of 1 to 8 secrets, none of them weak.
    private func secrets(
        _ json: JSON, _ row: SettingsRow, at path: String, _ use: String, otherwise wrong: SettingsError
    ) throws(SettingsError) -> [[UInt8]] {
        guard let elements = json.array else { throw wrong }
        guard (1...8).contains(elements.count) else {
            throw SettingsError(path, "has \(elements.count) keys", "give 1 to 8: \(use)")
        }
        var secrets: [[UInt8]] = []
        for (index, element) in elements.enumerated() {
            let elementPath = "\(path)[\(index)]"
            guard let bytes = try referenced(element, row, at: elementPath) else { throw wrong }
            if let weakness = KeyWeakness(of: bytes) {
                throw SettingsError(elementPath, weakness.description, "make one with: openssl rand -base64 32")
            }
            secrets.append(bytes)
        }
        return secrets
    }

    private func signingKey(_ bytes: [UInt8], at path: String) throws(SettingsError) -> HMACKey {
        let remedy = "make one with: openssl rand -base64 32"
        if let weakness = KeyWeakness(of: bytes) { throw SettingsError(path, weakness.description, remedy) }
        guard let key = HMACKey(bytes) else { throw SettingsError(path, KeyWeakness.short.description, remedy) }
        return key
    }
}

extension SettingsRow {
    fileprivate var acceptsNull: Bool {
        switch fallback {
        case .none, .env: true
        case .required, .text, .integer, .flag, .texts: false
        }
    }

    /// Whether an empty array says no more than the default does.
    fileprivate var isEmptyByDefault: Bool {
        if case .texts(let texts) = fallback { texts.isEmpty } else { false }
    }

    fileprivate var acceptsPlainText: Bool { if case .textOrReference = kind { true } else { false } }
}

extension JSON {
    /// For a sentence that must not show the value.
    fileprivate var kindOfThing: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
