import Foundation

/// One run of `cloakroom` to its end.
struct Command {
    let status: Int32?
    /// Standard output and standard error.
    let text: String

    init(_ arguments: [String], environment: [String: String] = TestSettings.environment) throws {
        let folder = try RunFolder.make("command")
        let program = try RunningProgram(
            try Programs.worker, arguments, output: "\(folder)/output", environment: environment)
        defer { program.stop(SIGKILL) }
        status = try program.waitForEnd(within: .seconds(10))
        text = program.text
    }
}
