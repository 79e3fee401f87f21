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
    case releaseKeys([ReleaseKey])
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
        SettingsError(path(of: key), cause, remedy)
    }

    /// As the operator finds it in the file, such as `tokens.issuers[0].secret`.
    func path<Value>(of key: KeyPath<Table, SettingsKey<Value>>) -> String {
        entries.pathPrefix + table[keyPath: key].path
    }

    private func value<Value>(_ key: SettingsKey<Value>) -> Value? {
        entries.onRead?(entries.pathPrefix + key.path)
        guard let value = entries.values[key.path] else { return nil }
        guard let decoded = key.decode(value) else { preconditionFailure("\(key.path) has a value of another type") }
        return decoded
    }
}

/// What the file, the environment and the defaults came to, by the paths of a table's rows; without those that have a
/// fault.
struct SettingsEntries {
    /// What stands before the paths in a fault, such as `tokens.issuers[0].`
    let pathPrefix: String
    /// Called with the whole path of each key whose value is read.
    let onRead: ((String) -> Void)?
    var values: [String: SettingsValue] = [:]
}
