import CloakroomKit
import Foundation

/// Whose photos a folder has, in a file of its own: a catalog that is lost must not make them another user's.
extension StoreFolder {
    /// - Returns: `nil` when nothing was ever stored in a tier.
    func readIdentity() throws(CloakroomError) -> String? {
        guard Self.status(identity) != nil else { return nil }
        do { return String(decoding: try Data(contentsOf: identity), as: UTF8.self) } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "whose photos these are")
        }
    }

    /// - Parameter name: `nil` for the next account that is signed in.
    func writeIdentity(_ name: String?) throws(CloakroomError) {
        guard let name else { return try Self.remove(identity) }
        try Self.write(Data(name.utf8), to: identity)
        try Self.sync(url)
    }
}
