public import Foundation

/// Whose records a store or a journal holds: a user of the service at one endpoint.
///
/// A file keeps its owner's name from its first opening on, and refuses every other one with
/// ``CloakroomError/Code/storeOwnerMismatch``: one user's unfinished work must not continue with another's account.
public struct StoreOwner: Sendable, Hashable {
    /// Byte for byte, such as ``Session/userID``.
    let user: String
    /// Scheme, host, port and path, however the URL spells them.
    let endpoint: String

    /// - Parameters:
    ///   - user: the user's name with the service, such as ``Session/userID``.
    ///   - endpoint: the worker's, as ``CloakroomClient`` has it.
    public init(user: String, endpoint: URL) {
        self.user = user
        guard let location = AssetLocation(endpoint), let path = location.path else {
            self.endpoint = endpoint.absoluteString
            return
        }
        let origin = location.origin
        var end = path[...]
        while end.last == UInt8(ascii: "/") { end.removeLast() }
        self.endpoint = "\(origin.scheme)://\(origin.host):\(origin.port)" + String(decoding: end, as: UTF8.self)
    }

    init(user: String, endpointName: String) {
        self.user = user
        endpoint = endpointName
    }

    /// Strings of Swift are equal when they look alike; two users' names may.
    public static func == (left: StoreOwner, right: StoreOwner) -> Bool {
        left.user.utf8.elementsEqual(right.user.utf8) && left.endpoint.utf8.elementsEqual(right.endpoint.utf8)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(user) }

    /// Both names, and where the first one ends.
    package var bytes: [UInt8] { Array("\(user.utf8.count):\(user)\(endpoint)".utf8) }
}

/// What becomes of records that an earlier version of the kit wrote, which names no owner in them.
public enum UnnamedRecords: Sendable {
    /// Their file is renamed to `<name>.unnamed-<date>`, and a new one begun.
    case setAside
    /// They are the owner's. For an app that knows that no other user was signed in on this device, and no other
    /// endpoint in use.
    case adopt
}
