/// One key of the settings file with the type of its value, which readers get without a cast.
///
/// ```swift
/// let database = SettingsKey("redis.database", .integer(0...15), default: 0, "The database's number.")
/// ```
struct SettingsKey<Value>: Sendable {
    let row: SettingsRow
    /// `nil` for what no file and no default comes to.
    let decode: @Sendable (SettingsValue) -> Value?

    /// As the table has it: within repeated objects relative to the object.
    var path: String { row.path }
}

extension SettingsKey {
    init(required path: String, _ type: SettingsType<Value>, _ sentence: String) {
        row = SettingsRow(path, type.kind, .required, sentence)
        decode = type.decode
    }

    init(_ path: String, _ type: SettingsType<Value>, default value: Value, _ sentence: String)
    where Value: SettingsDefault {
        row = SettingsRow(path, type.kind, value.fallback, sentence)
        decode = type.decode
    }

    init(_ path: String, _ type: SettingsType<Value>, default value: Value, _ sentence: String)
    where Value: RawRepresentable<String> {
        row = SettingsRow(path, type.kind, .text(value.rawValue), sentence)
        decode = type.decode
    }

    /// - Parameter variable: of the environment, which is taken if it is set.
    init<Wrapped>(
        optional path: String, _ type: SettingsType<Wrapped>, environment variable: String? = nil, _ sentence: String
    ) where Value == Wrapped? {
        row = SettingsRow(path, type.kind, variable.map { .env($0) } ?? .none, sentence)
        let decode = type.decode
        self.decode = { value in
            if case .absent = value { .some(nil) } else { decode(value).map { .some($0) } }
        }
    }
}

/// A type that has defaults in the table.
protocol SettingsDefault {
    var fallback: SettingsRow.Fallback { get }
}

extension String: SettingsDefault { var fallback: SettingsRow.Fallback { .text(self) } }
extension Int: SettingsDefault { var fallback: SettingsRow.Fallback { .integer(self) } }
extension Optional<Int>: SettingsDefault {
    var fallback: SettingsRow.Fallback { map(\.fallback) ?? SettingsRow.Fallback.none }
}
extension Bool: SettingsDefault { var fallback: SettingsRow.Fallback { .flag(self) } }
extension [String]: SettingsDefault { var fallback: SettingsRow.Fallback { .texts(self) } }

/// Keys that belong together, as stored properties; groups may hold groups.
///
/// What is declared is in the table: the rows are found by reflection, in the order of the declarations.
protocol SettingsGroup: Sendable {}

extension SettingsGroup {
    var rows: [SettingsRow] {
        Mirror(reflecting: self).children.flatMap { child -> [SettingsRow] in
            switch child.value {
            case let key as any SettingsRowed: [key.row]
            case let group as any SettingsGroup: group.rows
            default: preconditionFailure("\(child.label ?? "a property") is neither a key nor a group")
            }
        }
    }
}

/// A key of any type.
private protocol SettingsRowed {
    var row: SettingsRow { get }
}

extension SettingsKey: SettingsRowed {}
