import Foundation

/// A program of this package, run to its end or to a point where it kills itself.
package struct MortalProgram: Sendable {
    package enum End: Sendable, Equatable { case finished, killed }

    package struct ProgramError: Error { package let output: String }

    private let file: URL

    /// - Parameters:
    ///   - name: of the program, which the package manager puts beside the tests.
    ///   - variable: the environment's, which may name another file.
    package init(_ name: String, variable: String) {
        if let path = ProcessInfo.processInfo.environment[variable] {
            file = URL(fileURLWithPath: path)
        } else {
            file = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(
                name)
        }
    }

    /// - Throws: ``ProgramError`` when it ends in any other way.
    package func run(_ arguments: [String]) async throws -> End {
        let run = try await ProgramRun(file, arguments)
        switch run.end {
        case .exited(0): return .finished
        case .killed(SIGKILL): return .killed
        default: throw ProgramError(output: "\(run.end): \(run.output)")
        }
    }
}
