import CloakroomKit
import Foundation

/// The files of a storage, for their user alone.
///
/// On Apple's systems they can be read from the first unlock after a start on, so that work in the background can
/// continue, and they are in no backup.
struct MessageFolder: Sendable {
    let url: URL
    let database: URL
    /// Sealed files, by their random names.
    let attachments: URL
    /// That of the key file.
    let keys: URL

    /// A file that is there from the begin to the end of erasing everything.
    private static let erasingMark = "erasing"

    init(_ url: URL) {
        self.url = url
        database = url.appendingPathComponent("messages.sqlite", isDirectory: false)
        attachments = url.appendingPathComponent("attachments", isDirectory: true)
        keys = url.appendingPathComponent("keys", isDirectory: true)
    }

    /// Makes the folders that are not there, and protects those that are.
    func make() throws(CloakroomError) {
        for folder in [url, attachments, keys] {
            do throws(PrivateFolderError) { _ = try PrivateFolder(making: folder.path) } catch {
                throw CloakroomError(error, of: "the folder of messages")
            }
        }
        do { try url.protectFolders(with: [attachments, keys]) } catch {
            throw CloakroomError(of: error, otherwise: .storeFailed, "the folder of messages cannot be protected")
        }
    }

    /// Whether messages may have been stored here, also in a database that was moved aside.
    var hasDatabase: Bool {
        // What cannot be looked at may be there.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: url.path) else { return true }
        return names.contains { $0.hasPrefix(database.lastPathComponent) }
    }

    /// Whether erasing everything has begun, and not been completed.
    var isErasing: Bool {
        FileManager.default.fileExists(
            atPath: url.appendingPathComponent(Self.erasingMark, isDirectory: false).path)
    }

    func markErasing() throws(CloakroomError) {
        try converted { () throws(PrivateFolderError) in
            let folder = try PrivateFolder(making: url.path)
            try folder.write([], to: Self.erasingMark)
            try folder.syncNames()
        }
    }

    func unmarkErasing() throws(CloakroomError) {
        try converted { () throws(PrivateFolderError) in
            let folder = try PrivateFolder(making: url.path)
            try folder.remove(Self.erasingMark)
            try folder.syncNames()
        }
    }

    private func converted(_ work: () throws(PrivateFolderError) -> Void) throws(CloakroomError) {
        do throws(PrivateFolderError) { try work() } catch { throw CloakroomError(error, of: "the folder of messages") }
    }
}
