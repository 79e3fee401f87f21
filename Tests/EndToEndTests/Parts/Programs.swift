import Foundation

/// Why a test cannot have the part it needs.
struct MissingProgramError: Error, CustomStringConvertible {
    let description: String
}

/// The real programs, from the environment or from where they usually are.
enum Programs {
    static var worker: String {
        get throws {
            try path(
                "CLOAKROOM_WORKER", orElse: besideTheTests("cloakroom"), "build it: swift build --product cloakroom")
        }
    }

    static var sample: String {
        get throws {
            try path(
                "CLOAKROOM_SAMPLE", orElse: besideTheTests("cloakroom-sample"),
                "build it: swift build --product cloakroom-sample")
        }
    }

    static var nginx: String {
        get throws { try path("CLOAKROOM_NGINX", orElse: inPath("nginx"), "install nginx") }
    }

    static var redis: String {
        get throws { try path("CLOAKROOM_REDIS_SERVER", orElse: inPath("redis-server"), "install redis-server") }
    }

    static var prometheus: String {
        get throws { try path("CLOAKROOM_PROMETHEUS", orElse: inPath("prometheus"), "install prometheus") }
    }

    static var rclone: String {
        get throws { try path("CLOAKROOM_RCLONE", orElse: inPath("rclone"), "install rclone") }
    }

    /// That of the Swift toolchain which builds the tests.
    static var compiler: String {
        get throws { try path("CLOAKROOM_CLANG", orElse: inPath("clang"), "have Swift's usr/bin in PATH") }
    }

    static var seaweedFS: String {
        get throws {
            try path("CLOAKROOM_WEED", orElse: inPath("weed"), "deploy/test installs SeaweedFS and sets the variable")
        }
    }

    /// A folder of programs: `python`, which has boto3, and `aws`.
    static var clients: String { get throws { try folder("CLOAKROOM_CLIENTS", with: "aws") } }

    /// A folder of programs: `python`, which has the clients of STS' own wire.
    static var sdks: String { get throws { try folder("CLOAKROOM_SDKS", with: "python") } }

    /// The client of the AWS SDK for Go v2; `nil` where the distribution has no package of that.
    static var goClient: String? { optional("CLOAKROOM_GO_CLIENT") }

    private static func optional(_ variable: String) -> String? {
        ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func folder(_ variable: String, with program: String) throws -> String {
        let folder = ProcessInfo.processInfo.environment[variable] ?? ""
        guard FileManager.default.isExecutableFile(atPath: "\(folder)/bin/\(program)") else {
            throw MissingProgramError(
                description: "\(variable) names no folder with bin/\(program); deploy/test installs it and sets this")
        }
        return "\(folder)/bin"
    }

    /// A libfcgi linked with `-Bsymbolic-functions`; `nil` where deploy/test could not build one.
    static var symbolicLibrary: String? { optional("CLOAKROOM_SYMBOLIC_LIBFCGI") }

    /// The checkout, for the files of nginx/.
    static let checkout = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/")
        .replacing("//", with: "/")

    private static func path(_ variable: String, orElse usual: String?, _ advice: String) throws -> String {
        let given = ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        guard let path = given ?? usual, FileManager.default.isExecutableFile(atPath: path) else {
            throw MissingProgramError(
                description: "\(variable) names no program (\(given ?? usual ?? "unset")); \(advice)")
        }
        return path
    }

    private static func inPath(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/usr/bin"]).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The test bundle and the programs are products of one build.
    private static func besideTheTests(_ name: String) -> String? {
        let own = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        var folder = URL(fileURLWithPath: own)
        for _ in 0..<4 {
            folder.deleteLastPathComponent()
            let program = folder.appendingPathComponent(name).path
            if FileManager.default.isExecutableFile(atPath: program) { return program }
        }
        return "\(checkout)/.build/debug/\(name)"
    }
}
