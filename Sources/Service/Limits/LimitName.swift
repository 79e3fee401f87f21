/// What is limited: requests of a kind, or what they add up to.
package enum LimitName: String, Sendable, CaseIterable {
    case renew
    /// Keys, in all renewals together.
    case renewKeys
    case vend
    case upload
    /// Bytes announced, in all uploads together.
    case uploadBytes
    case session
    case notification

    /// What is counted besides requests of this kind.
    var volume: LimitName? {
        switch self {
        case .renew: .renewKeys
        case .upload: .uploadBytes
        case .renewKeys, .vend, .uploadBytes, .session, .notification: nil
        }
    }

    /// What is counted; `nil` for requests.
    var unit: String? {
        switch self {
        case .renewKeys: "keys"
        case .uploadBytes: "bytes"
        case .renew, .vend, .upload, .session, .notification: nil
        }
    }
}

extension Settings.Limits {
    subscript(name: LimitName) -> Settings.Limit {
        switch name {
        case .renew: renew
        case .renewKeys: renewKeys
        case .vend: vend
        case .upload: upload
        case .uploadBytes: uploadBytes
        case .session: session
        case .notification: notification
        }
    }
}
