import Foundation

/// One run of `cloakroom` to its end.
struct Command {
    let status: Int32?
    /// Standard output and standard error.
    let text: String

    init(
        _ arguments: [String], environment: [String: String] = TestSettings.environment,
        within limit: Duration = .seconds(10)
    ) throws {
        let folder = try RunFolder.make("command")
        let program = try RunningProgram(
            try Programs.worker, arguments, output: "\(folder)/output", environment: environment)
        defer { program.stop(SIGKILL) }
        status = try program.waitForEnd(within: limit)
        text = program.text
    }
}
