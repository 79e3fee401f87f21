import CloakroomJSON
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The files that settings are loaded from, secrets among them: each as it was when it was first read.
struct SettingsFiles: Sendable {
    private struct File {
        let path: String
        /// `nil` for a file that could not be read.
        let bytes: [UInt8]?
    }

    private var files: [File] = []
    /// Whether the disk is not to be read.
    private let isWhole: Bool
    /// The first file that the supervisor did not try to read.
    private(set) var unknown: String?

    /// As they are on the disk.
    init() { isWhole = false }

    /// - Parameter text: of the settings file, as supervisors of earlier versions pass it alone.
    init(path: String, text: String) {
        isWhole = false
        files = [File(path: path, bytes: Array(text.utf8))]
    }

    /// - Parameter text: as ``text`` gives it; `nil` for any other.
    init?(_ text: String) {
        guard let object = (try? JSON(parsing: Array(text.utf8)))?.object else { return nil }
        isWhole = true
        for member in object.members {
            switch member.value {
            case .null: files.append(File(path: member.name, bytes: nil))
            case .string(let base64):
                guard let data = Data(base64Encoded: base64) else { return nil }
                files.append(File(path: member.name, bytes: Array(data)))
            case .bool, .number, .array, .object: return nil
            }
        }
    }

    /// - Returns: `nil` for a file that cannot be read.
    mutating func bytes(of path: String) -> [UInt8]? {
        if let file = files.first(where: { $0.path.hasSameBytes(as: path) }) { return file.bytes }
        guard !isWhole else {
            unknown = unknown ?? path
            return nil
        }
        let bytes: [UInt8]? = (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init)
        files.append(File(path: path, bytes: bytes))
        return bytes
    }

    /// A JSON object of what was read, by paths: base64, or null for a file that could not be read.
    var text: String {
        let members = files.map { file in
            JSON.Object.Member(
                name: file.path,
                value: file.bytes.map { JSON.string(Data($0).base64EncodedString()) } ?? JSON.null)
        }
        return JSON.object(JSON.Object(members: members)).text
    }

    /// The ``text``, for workers; `nil` with more than ``WorkerMemory/maximumSettingsBytes``, or without memory: they
    /// read the files themselves.
    var memory: SharedMemory? {
        let text = text
        guard text.utf8.count <= WorkerMemory.maximumSettingsBytes else { return nil }
        return try? SharedMemory(holding: text)
    }
}
