import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Loads the settings, with the process's environment and files.
enum SettingsFile {
    static func load(_ path: String) throws(SettingsErrors) -> Settings {
        try Settings.load(file: path, environment: ProcessInfo.processInfo.environment) { path in
            (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init)
        }
    }

    /// For a command that ends where the settings have faults.
    static func require(_ path: String) throws(EarlyExit) -> Settings {
        do throws(SettingsErrors) { return try load(path) } catch { throw .failure("\(path) has faults:\n\(error)") }
    }
}
