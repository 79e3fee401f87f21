import CloakroomCrypto
package import Foundation

/// The folder of one user of one endpoint.
struct UserFolder {
    let url: URL

    /// Named by a digest, since names of users and endpoints may have characters that no file's name can have.
    init(of owner: StoreOwner, in parent: URL) {
        let name = SHA256.hash(owner.bytes).prefix(16).hexadecimal
        url = parent.appendingPathComponent(name, isDirectory: true)
    }

    /// Makes it where there is none, for this user of the system alone.
    func make() throws(CloakroomError) {
        do throws(PrivateFolderError) { _ = try PrivateFolder(making: url.path) } catch {
            throw CloakroomError(error, of: "the user's folder")
        }
        do { try url.protectFolders() } catch {
            throw CloakroomError(of: error, otherwise: .storeFailed, "the user's folder cannot be protected")
        }
    }
}

extension URL {
    /// On Apple's systems: has files that are made in this folder, and in these, be readable from the first unlock after a
    /// start on, so that work in the background can continue.
    ///
    /// - Parameter isInBackups: whether backups of the device have this folder, with all in it that is not left out itself.
    package func protectFolders(with others: [URL] = [], isInBackups: Bool = false) throws {
        // Files that are made in a folder get its protection.
        for folder in [self] + others { try folder.protect() }
        try setIsInBackups(isInBackups)
    }

    /// On Apple's systems: has backups of the device have this file or folder, or leave it out.
    func setIsInBackups(_ isInBackups: Bool) throws {
        #if canImport(Darwin)
            var item = self
            var values = URLResourceValues()
            values.isExcludedFromBackup = !isInBackups
            try item.setResourceValues(values)
        #endif
    }

    /// On Apple's systems: has this file or folder be readable from the first unlock after a start on. A Mac's disk is
    /// protected as a whole.
    func protect() throws {
        #if canImport(Darwin) && !os(macOS)
            try FileManager.default.setAttributes(
                [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
        #endif
    }
}
