import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The one place where the process meets its environment and the settings file.
enum SettingsFile {
    static func load(_ path: String) throws(SettingsErrors) -> Settings {
        try Settings.load(file: path, environment: ProcessInfo.processInfo.environment) { path in
            (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init)
        }
    }
}
