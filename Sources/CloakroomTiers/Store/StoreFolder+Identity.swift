import CloakroomKit
import Foundation

/// Whose photos a folder has.
enum FolderOwner: Sendable, Equatable {
    /// There is no file: it was lost, or is yet to be written.
    case none
    /// The next account that is signed in: nothing was stored in a tier before, or an earlier version was told so.
    case next
    /// A ``TierIdentity``.
    case account(String)
    /// That was known, and is not any more.
    case unknown
}

/// Whose photos a folder has, in a file of its own: a catalog that is lost must not make them another user's.
extension StoreFolder {
    /// No identity: these have no control characters.
    private static let next = "next\n"
    private static let maximumIdentityBytes = 4096

    /// - Returns: ``FolderOwner/unknown`` for a file that was damaged, as by a loss of power.
    func readOwner() throws(CloakroomError) -> FolderOwner {
        guard Self.status(identity) != nil else { return .none }
        let bytes: Data
        do { bytes = try Data(contentsOf: identity) } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "whose photos these are")
        }
        guard (1...Self.maximumIdentityBytes).contains(bytes.count), let text = String(data: bytes, encoding: .utf8)
        else { return .unknown }
        if text == Self.next { return .next }
        return text.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? .unknown : .account(text)
    }

    /// - Parameter owner: one that is known, or ``FolderOwner/next``.
    func write(_ owner: FolderOwner) throws(CloakroomError) {
        switch owner {
        case .none, .unknown: return
        case .next: try Self.write(Data(Self.next.utf8), to: identity)
        case .account(let name): try Self.write(Data(name.utf8), to: identity)
        }
        try Self.sync(url)
    }
}
