import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Loads the settings, with the process's environment and files.
enum SettingsFile {
    /// - Parameter text: the file's, as it was; `nil` for what it has now.
    static func load(_ path: String, text: String? = nil) throws(SettingsErrors) -> Settings {
        try Settings.load(file: path, environment: ProcessInfo.processInfo.environment) { name in
            if name == path, let text { return Array(text.utf8) }
            return bytes(of: name)
        }
    }

    /// - Returns: `nil` for a file that cannot be read, or is no text.
    static func text(of path: String) -> String? { bytes(of: path).flatMap { String(validating: $0, as: UTF8.self) } }

    private static func bytes(of path: String) -> [UInt8]? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init)
    }

    /// For a command that ends where the settings have faults.
    static func require(_ path: String, text: String? = nil) throws(EarlyExit) -> Settings {
        do throws(SettingsErrors) { return try load(path, text: text) } catch {
            throw .failure("\(path) has faults:\n\(error)")
        }
    }
}
