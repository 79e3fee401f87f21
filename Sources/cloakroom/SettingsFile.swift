import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Loads the settings, with the process's environment and files.
enum SettingsFile {
    static func load(_ path: String) throws(SettingsErrors) -> Settings {
        var files = SettingsFiles()
        return try load(path, from: &files)
    }

    /// - Parameter files: what was read before; then also what this reads.
    static func load(_ path: String, from files: inout SettingsFiles) throws(SettingsErrors) -> Settings {
        // The closure escapes, and so cannot capture the parameter.
        var read = files
        defer { files = read }
        return try Settings.load(file: path, environment: ProcessInfo.processInfo.environment) { read.bytes(of: $0) }
    }

    /// For a command that ends where the settings have faults.
    static func require(_ path: String) throws(EarlyExit) -> Settings {
        var files = SettingsFiles()
        return try require(path, from: &files)
    }

    /// - Parameter files: as for ``load(_:from:)``.
    static func require(_ path: String, from files: inout SettingsFiles) throws(EarlyExit) -> Settings {
        let loaded: Result<Settings, SettingsErrors>
        do throws(SettingsErrors) {
            loaded = .success(try load(path, from: &files))
        } catch {
            loaded = .failure(error)
        }
        // Where the file may be missing, other settings than the operator's would be loaded without a fault.
        if let unknown = files.unknown {
            throw .failure(
                "\(path): the supervisor, of another version, did not read \(unknown); have it run this one (SIGUSR2)")
        }
        switch loaded {
        case .success(let settings): return settings
        case .failure(let errors): throw .failure("\(path) has faults:\n\(errors)")
        }
    }
}
