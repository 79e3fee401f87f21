import CloakroomCrypto
import CloakroomJSON
import CloakroomOperations
import CloakroomServer

/// Which keys `cloakroom renew` leaves alone.
///
/// Assets in users' folders are renewed where the settings say that assets are there, Cloakroom's own objects never.
struct RenewRule: Sendable {
    /// For the state: a run under another rule begins anew, to take up what this one leaves alone.
    let digest: String
    private let own: OwnObjects
    private let users: UserFolders
    private let entersFolders: Bool

    init(_ settings: Settings) {
        own = settings.ownObjects
        users = settings.userFolders
        entersFolders = settings.renewal.ownFolders != nil || settings.lifecycle.expiresUserFolders
        // All that these are made of.
        let parts = [
            users.parents, settings.lifecycle.prefixes, settings.assetPrefixes.map(\.prefix),
            [settings.renewal.keyPrefix],
        ]
        let lists = parts.map { JSON.array($0.map { JSON.string($0) }) }
        digest = SHA256.hash(Array(JSON.array([JSON.bool(entersFolders)] + lists).text.utf8)).hexadecimal
    }

    func mayRenew(_ key: String) -> Bool { !own.hold(key) && (entersFolders || !users.hold(key)) }
}
