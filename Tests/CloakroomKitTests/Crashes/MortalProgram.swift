import Foundation

/// `kit-crash`, run to its end or to a point where it kills itself.
struct MortalProgram {
    enum End: Equatable { case finished, killed }

    struct ProgramError: Error { var output: String }

    /// Which of its scenarios.
    let scenario: String
    let folder: URL

    /// - Parameter point: counts from 1; 0 is never reached.
    func run(upTo point: Int, at date: Date) async throws -> End {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = [scenario, folder.path, String(point), String(date.timeIntervalSince1970)]
        let output = Pipe()
        // Foundation keeps a process that has ended, and so its pipe.
        defer { for end in [output.fileHandleForReading, output.fileHandleForWriting] { try? end.close() } }
        process.standardOutput = output
        process.standardError = output
        let ended = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in ended.continuation.finish() }
        try process.run()
        // A few lines, which the pipe holds.
        for await _ in ended.stream {}
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): return .finished
        case (.uncaughtSignal, SIGKILL): return .killed
        default:
            throw ProgramError(output: String(decoding: output.fileHandleForReading.availableData, as: UTF8.self))
        }
    }

    /// Beside the tests, where the package manager puts both, unless the environment says otherwise.
    private static var executable: URL {
        if let path = ProcessInfo.processInfo.environment["CLOAKROOM_KIT_CRASH"] { return URL(fileURLWithPath: path) }
        let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return tests.appendingPathComponent("kit-crash")
    }
}
