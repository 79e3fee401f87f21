/// What is limited: requests of a kind, or what they add up to.
package enum RateLimitName: String, Sendable, CaseIterable {
    case renew
    /// Keys, in all renewals together.
    case renewKeys
    case release
    /// Images, in all releases together.
    case releaseKeys
    /// Requests for credentials that call STS.
    case vend
    /// All requests for credentials, those too that get credentials at hand.
    case vendAll
    case upload
    /// Bytes announced, in all uploads together.
    case uploadBytes
    case session
    case notification

    /// What is counted besides requests of this kind.
    var quantity: RateLimitName? {
        switch self {
        case .renew: .renewKeys
        case .release: .releaseKeys
        case .upload: .uploadBytes
        case .renewKeys, .releaseKeys, .vend, .vendAll, .uploadBytes, .session, .notification: nil
        }
    }

    /// How the window of all devices of a user is called.
    var ofUser: String { rawValue + "User" }

    /// What is counted; `nil` for requests.
    var unit: String? {
        switch self {
        case .renewKeys, .releaseKeys: "keys"
        case .uploadBytes: "bytes"
        case .renew, .release, .vend, .vendAll, .upload, .session, .notification: nil
        }
    }
}

extension RateLimitName {
    /// How many requests for credentials there may be for each that calls STS.
    static let vendsForEach = 10
}

extension Settings.Limit {
    func times(_ factor: Int) -> Settings.Limit {
        Settings.Limit(
            quota: quota * factor, userQuota: userQuota * factor, window: window, whenRedisIsAway: whenRedisIsAway)
    }
}

extension Settings.Limits {
    subscript(name: RateLimitName) -> Settings.Limit {
        switch name {
        case .renew: renew
        case .renewKeys: renewKeys
        case .release: release
        case .releaseKeys: releaseKeys
        case .vend: vend
        case .vendAll: vend.times(RateLimitName.vendsForEach)
        case .upload: upload
        case .uploadBytes: uploadBytes
        case .session: session
        case .notification: notification
        }
    }
}

/// What a request counts: one in the window of its kind, and in the window of quantity of that kind what it requests.
package struct RateLimitCost: Sendable, Hashable {
    let name: RateLimitName
    /// Keys or bytes; 0 where the kind has no such window, or the request names none.
    let quantity: Int
    /// Whether it gives up what was begun. Clients do so when they are refused, once, and the parts that stay cost money: a window of
    /// requests that is used up lets as many of these in again.
    private let givesUp: Bool

    private init(_ name: RateLimitName, quantity: Int = 0, givesUp: Bool = false) {
        self.name = name
        self.quantity = max(0, quantity)
        self.givesUp = givesUp
    }

    /// Up to how many requests in the window this one is let in.
    func bound(_ quota: Int) -> Int { givesUp ? 2 * quota : quota }

    package static let vend = RateLimitCost(.vend)
    package static let vendAll = RateLimitCost(.vendAll)
    package static let session = RateLimitCost(.session)
    package static let notification = RateLimitCost(.notification)

    package static func renewal(keys: Int) -> RateLimitCost { RateLimitCost(.renew, quantity: keys) }
    package static func release(keys: Int) -> RateLimitCost { RateLimitCost(.release, quantity: keys) }

    /// - Parameter bytes: as many as may be uploaded by what is handed out; 0 where nothing was announced.
    package static func upload(bytes: Int) -> RateLimitCost { RateLimitCost(.upload, quantity: bytes) }

    /// An upload is given up.
    package static let uploadGivenUp = RateLimitCost(.upload, givesUp: true)
}
