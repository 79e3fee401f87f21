import CloakroomCrypto
import CloakroomSignatures
import CloakroomJOSE

/// What a row of the table came to: the file's value, the default, or nothing.
enum SettingsValue {
    case absent
    case text(String)
    case integer(Int)
    case flag(Bool)
    case texts([String])
    case secret(Secret)
    case key(HMACKey)
    case privateKey(PrivateKey)
    case sealingKeys([SealingKey])
    /// The path, and what the file holds.
    case file(path: String, bytes: [UInt8])
    case objects([SettingsEntries])
    /// In the order of the file.
    case named([(name: String, values: SettingsEntries)])
}

/// The values of a table or of a group in it, by the names of its keys: `values.redis.database`.
@dynamicMemberLookup
struct SettingsValues<Table: SettingsGroup> {
    let table: Table
    private let entries: SettingsEntries

    init(_ table: Table, _ entries: SettingsEntries) {
        self.table = table
        self.entries = entries
    }

    /// - Precondition: the key has no fault of its own.
    subscript<Value>(dynamicMember key: KeyPath<Table, SettingsKey<Value>>) -> Value {
        guard let value = value(table[keyPath: key]) else {
            preconditionFailure("\(table[keyPath: key].path) has a fault")
        }
        return value
    }

    subscript<Group: SettingsGroup>(dynamicMember group: KeyPath<Table, Group>) -> SettingsValues<Group> {
        SettingsValues<Group>(table[keyPath: group], entries)
    }

    /// - Returns: `nil` where the key has a fault of its own.
    func valid<Value>(_ key: KeyPath<Table, SettingsKey<Value>>) -> Value? { value(table[keyPath: key]) }

    /// - Returns: `nil` where the key is absent or has a fault of its own.
    func valid<Value>(_ key: KeyPath<Table, SettingsKey<Value?>>) -> Value? { value(table[keyPath: key]) ?? nil }

    /// Whether the key has no fault of its own.
    func isValid<Value>(_ key: KeyPath<Table, SettingsKey<Value>>) -> Bool {
        entries.values[table[keyPath: key].path] != nil
    }

    /// Whether no key of the table has a fault of its own.
    var areValid: Bool { table.rows.allSatisfy { entries.values[$0.path] != nil } }

    func fault<Value>(
        _ key: KeyPath<Table, SettingsKey<Value>>, _ cause: String, _ remedy: String
    ) -> SettingsError {
        SettingsError(entries.place + table[keyPath: key].path, cause, remedy)
    }

    private func value<Value>(_ key: SettingsKey<Value>) -> Value? {
        guard let value = entries.values[key.path] else { return nil }
        guard let decoded = key.decode(value) else { preconditionFailure("\(key.path) has a value of another type") }
        return decoded
    }
}

/// The values of a table by path. Reading a path or type the table does not have is our mistake.
struct SettingsEntries {
    /// What stands before the paths in a fault, such as `tokens.issuers[0].`
    let place: String
    var values: [String: SettingsValue] = [:]

    private func value(_ path: String) -> SettingsValue {
        guard let value = values[path] else { preconditionFailure("no row \(path)") }
        return value
    }

    func text(_ path: String) -> String {
        guard let text = optionalText(path) else { preconditionFailure("\(path) is absent") }
        return text
    }

    func optionalText(_ path: String) -> String? {
        switch value(path) {
        case .absent: return nil
        case .text(let text): return text
        case .integer, .flag, .texts, .secret, .key, .privateKey, .sealingKeys, .file, .objects, .named:
            preconditionFailure("\(path) is no text")
        }
    }

    func integer(_ path: String) -> Int {
        guard let number = optionalInteger(path) else { preconditionFailure("\(path) is no integer") }
        return number
    }

    func optionalInteger(_ path: String) -> Int? {
        guard case .integer(let number) = value(path) else { return nil }
        return number
    }

    func seconds(_ path: String) -> Duration { .seconds(integer(path)) }
    func milliseconds(_ path: String) -> Duration { .milliseconds(integer(path)) }

    func flag(_ path: String) -> Bool {
        guard let flag = optionalFlag(path) else { preconditionFailure("\(path) is absent") }
        return flag
    }

    func optionalFlag(_ path: String) -> Bool? {
        guard case .flag(let flag) = value(path) else { return nil }
        return flag
    }

    func texts(_ path: String) -> [String] {
        guard case .texts(let texts) = value(path) else { preconditionFailure("\(path) is no array of texts") }
        return texts
    }

    func optionalTexts(_ path: String) -> [String]? {
        guard case .texts(let texts) = value(path) else { return nil }
        return texts
    }

    func choice<Choice: RawRepresentable<String>>(_ path: String) -> Choice {
        guard let choice = Choice(rawValue: text(path)) else { preconditionFailure("\(path) has another choice") }
        return choice
    }

    func secret(_ path: String) -> Secret? {
        guard case .secret(let secret) = value(path) else { return nil }
        return secret
    }

    func key(_ path: String) -> HMACKey? {
        guard case .key(let key) = value(path) else { return nil }
        return key
    }

    func privateKey(_ path: String) -> PrivateKey? {
        guard case .privateKey(let key) = value(path) else { return nil }
        return key
    }

    /// Empty when absent.
    func sealingKeys(_ path: String) -> [SealingKey] {
        guard case .sealingKeys(let keys) = value(path) else { return [] }
        return keys
    }

    func file(_ path: String) -> (path: String, bytes: [UInt8])? {
        guard case .file(let path, let bytes) = value(path) else { return nil }
        return (path, bytes)
    }

    /// - Returns: nothing where the key is absent.
    func optionalObjects(_ path: String) -> [SettingsEntries] {
        guard case .objects(let objects) = value(path) else { return [] }
        return objects
    }

    /// - Returns: nothing where the key is absent.
    func named(_ path: String) -> [(name: String, values: SettingsEntries)] {
        guard case .named(let named) = value(path) else { return [] }
        return named
    }
}
