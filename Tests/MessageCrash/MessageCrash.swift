import Foundation

/// Runs a piece of a device's life in a folder that stands for its disk, and ends by SIGKILL when it crosses a given point:
/// before or after any step that lasts.
///
/// usage: `message-crash SCENARIO FOLDER POINT SECONDS`: POINT counts from 1 and 0 lets it run to its end; SECONDS is what
/// all clocks show, since 1970.
@main
enum MessageCrash {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let scenario = Scenario(rawValue: arguments[1]), let point = Int(arguments[3]),
            let seconds = Int64(arguments[4])
        else { throw UsageError() }
        let device = try await CrashDevice(
            folder: URL(fileURLWithPath: arguments[2], isDirectory: true), points: KillPoints(last: point),
            seconds: seconds)
        try await device.perform(scenario)
    }

    struct UsageError: Error {}
}
