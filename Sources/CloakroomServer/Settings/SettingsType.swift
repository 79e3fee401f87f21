import CloakroomCrypto
import CloakroomJOSE
import CloakroomSignatures

/// What may stand at a key, and what readers get for it.
struct SettingsType<Value>: Sendable {
    let kind: SettingsRow.Kind
    let decode: @Sendable (SettingsValue) -> Value?
}

extension SettingsType<String> {
    static func text(_ shape: TextShape) -> Self { Self(kind: .text(shape), decode: \.text) }
    static func choice(_ names: [String]) -> Self { Self(kind: .choice(names), decode: \.text) }
    static var textOrReference: Self { Self(kind: .textOrReference, decode: \.text) }
}

extension SettingsType where Value: RawRepresentable<String> & CaseIterable & Sendable {
    static func choice(of type: Value.Type) -> Self {
        Self(kind: .choice(type.allCases.map(\.rawValue))) { $0.text.flatMap { Value(rawValue: $0) } }
    }
}

extension SettingsType<Int> {
    static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(kind: .integer(range)) { if case .integer(let number) = $0 { number } else { nil } }
    }
}

extension SettingsType<Int?> {
    static func integerOrNull(_ range: ClosedRange<Int>) -> Self {
        Self(kind: .integerOrNull(range)) {
            switch $0 {
            case .integer(let number): .some(.some(number))
            case .absent: .some(nil)
            case .text, .flag, .texts, .secret, .key, .privateKey, .sealingKeys, .releaseKeys, .file, .objects, .named:
                nil
            }
        }
    }
}

extension SettingsType<Bool> {
    static var flag: Self { Self(kind: .flag) { if case .flag(let flag) = $0 { flag } else { nil } } }
}

extension SettingsType<[String]> {
    static func texts(_ shape: TextShape) -> Self {
        Self(kind: .texts(shape)) { if case .texts(let texts) = $0 { texts } else { nil } }
    }
}

extension SettingsType<Secret> {
    static var secret: Self { Self(kind: .secret) { if case .secret(let secret) = $0 { secret } else { nil } } }
}

extension SettingsType<HMACKey> {
    static var signingKey: Self { Self(kind: .signingKey) { if case .key(let key) = $0 { key } else { nil } } }
}

extension SettingsType<PrivateKey> {
    static var privateKey: Self { Self(kind: .privateKey) { if case .privateKey(let key) = $0 { key } else { nil } } }
}

extension SettingsType<[SealingKey]> {
    static func sealingKeys(purpose: String) -> Self {
        Self(kind: .sealingKeys(purpose: purpose)) { if case .sealingKeys(let keys) = $0 { keys } else { nil } }
    }
}

extension SettingsType<[ReleaseKey]> {
    static var releaseKeys: Self {
        Self(kind: .releaseKeys) { if case .releaseKeys(let keys) = $0 { keys } else { nil } }
    }
}

extension SettingsType<(path: String, bytes: [UInt8])> {
    static var file: Self {
        Self(kind: .file) { if case .file(let path, let bytes) = $0 { (path, bytes) } else { nil } }
    }
}

extension SettingsType {
    static func objects<Table>(_ table: Table) -> Self where Value == [SettingsValues<Table>] {
        Self(kind: .objects(table.rows)) {
            guard case .objects(let objects) = $0 else { return nil }
            return objects.map { SettingsValues(table, $0) }
        }
    }

    /// In the order of the file.
    static func named<Table>(_ shape: TextShape, _ table: Table) -> Self
    where Value == [(name: String, values: SettingsValues<Table>)] {
        Self(kind: .named(shape, table.rows)) {
            guard case .named(let named) = $0 else { return nil }
            return named.map { (name: $0.name, values: SettingsValues(table, $0.values)) }
        }
    }
}

extension SettingsValue {
    fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
}
