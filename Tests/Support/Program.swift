import Foundation

/// A program the test starts, and ends by its process id.
package final class Program: Sendable {
    package enum LaunchError: Error { case notFound(String), endedEarly(String) }

    private let process: Process

    /// Starts a program and waits until it has printed a text, on either output.
    ///
    /// - Parameters:
    ///   - name: searched in PATH, unless the environment names a file under `variable`.
    ///   - announcement: blocks the thread until it has come.
    package init(_ name: String, variable: String? = nil, arguments: [String], until announcement: String) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: try Self.path(of: name, variable: variable))
        process.arguments = arguments
        process.standardInput = Pipe()
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        var text = ""
        while !text.contains(announcement) {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                process.waitUntilExit()
                throw LaunchError.endedEarly(text)
            }
            text += String(decoding: more, as: UTF8.self)
        }
        // Read on, so that it never waits for us.
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
        self.announced = text
    }

    /// What it had printed by then.
    package let announced: String

    deinit { kill() }

    package func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Such as `SIGSTOP`.
    package func signal(_ number: Int32) {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, number)
    }

    /// Runs a program to its end.
    ///
    /// - Returns: its standard output.
    @discardableResult
    package static func run(_ name: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try path(of: name, variable: nil))
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw LaunchError.endedEarly("\(name) \(arguments)") }
        return text
    }

    private static func path(of name: String, variable: String?) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        if let variable, let path = environment[variable] { return path }
        let folders = (environment["PATH"] ?? "").components(separatedBy: ":") + ["/usr/sbin", "/usr/bin"]
        guard let folder = folders.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") })
        else {
            throw LaunchError.notFound(name)
        }
        return "\(folder)/\(name)"
    }
}
