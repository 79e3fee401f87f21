import Foundation

/// Runs a piece of a device's life in a folder that stands for its disk and for the cold tier, and ends by SIGKILL when it
/// crosses a given point: before, in or after any step that lasts.
///
/// usage: `tier-crash SCENARIO FOLDER DEVICE POINT SECONDS`: POINT counts from 1 and 0 lets it run to its end; SECONDS is
/// what all clocks show, since 1970.
@main
enum TierCrash {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 6, let scenario = Scenario(rawValue: arguments[1]), let point = Int(arguments[4]),
            let seconds = Double(arguments[5])
        else { throw UsageError() }
        let device = try CrashDevice(
            folder: URL(fileURLWithPath: arguments[2], isDirectory: true), name: arguments[3],
            points: KillPoints(last: point), date: Date(timeIntervalSince1970: seconds))
        try await device.perform(scenario)
    }

    struct UsageError: Error {}
}
