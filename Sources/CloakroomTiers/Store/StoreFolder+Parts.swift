import CloakroomCrypto
import CloakroomKit
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What has come so far of photos that are being fetched: a folder for each, since tiers keep files of their own beside
/// the one that they are to write.
extension StoreFolder {
    static let partPrefix = "fetch-"

    /// The file that the cold tier writes.
    func part(of md5: [UInt8]) -> URL { URL(fileURLWithPath: "\(partFolder(of: md5))/photo", isDirectory: false) }

    private func partFolder(of md5: [UInt8]) -> String { "\(incomingPath)\(Self.partPrefix)\(md5.hexadecimal)" }

    /// Makes the folder of a part; one that is there stays, with what is in it.
    func makePartFolder(of md5: [UInt8]) throws(CloakroomError) {
        let path = partFolder(of: md5)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .file("make", URL(fileURLWithPath: path, isDirectory: true))
        }
    }

    /// Removes what has come of a photo.
    func removePart(of md5: [UInt8]) throws(CloakroomError) {
        try removePart(named: Self.partPrefix + md5.hexadecimal)
    }

    /// Removes the folder of a photo that has arrived, unless something is in it.
    func removeEmptyPart(of md5: [UInt8]) { rmdir(partFolder(of: md5)) }

    /// - Parameter name: in the folder ``incoming``.
    func removePart(named name: String) throws(CloakroomError) {
        let part = URL(fileURLWithPath: incomingPath + name, isDirectory: false)
        // Earlier versions had a file there.
        guard Self.isFolder(part.path) else { return try Self.remove(part) }
        for file in try Self.names(in: part) {
            try Self.remove(part.appendingPathComponent(file, isDirectory: false))
        }
        guard rmdir(part.path) == 0 else { throw .file("remove", part) }
    }

    /// Not what a link leads to.
    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The names of all parts, and of what earlier versions left beside them.
    ///
    /// - Returns: none where the folder cannot be listed; nothing in it is a photo's only copy.
    func partNames() -> [String] {
        let names = (try? Self.names(in: incoming)) ?? []
        return names.filter { $0.hasPrefix(Self.partPrefix) || $0.hasPrefix(".cloakroom-") }
    }

    /// - Returns: `nil` for what is not the folder of a part.
    func md5(ofPart name: String) -> [UInt8]? {
        guard name.hasPrefix(Self.partPrefix),
            let md5 = [UInt8](hexadecimal: name.dropFirst(Self.partPrefix.count).utf8), md5.count == 16,
            Self.isFolder(partFolder(of: md5))
        else { return nil }
        return md5
    }
}
