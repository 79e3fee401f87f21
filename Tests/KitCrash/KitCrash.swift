import Foundation

/// Runs a piece of the kit in a folder that stands for S3, the app's database and its cache, and ends by SIGKILL when it
/// crosses a given point: before, in or after any step that lasts.
///
/// usage: `kit-crash recovery|renewal|outbox FOLDER POINT SECONDS`: POINT counts from 1 and 0 lets it run to its end;
/// SECONDS is what the clock shows, since 1970.
@main
enum KitCrash {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let point = Int(arguments[3]), let seconds = Double(arguments[4]) else {
            throw UsageError()
        }
        let points = KillPoints(last: point)
        let folder = Folder(URL(fileURLWithPath: arguments[2]), points, date: Date(timeIntervalSince1970: seconds))
        switch arguments[1] {
        case "recovery": try await runRecovery(in: folder)
        case "renewal": try await runRenewal(in: folder)
        case "outbox": try await runOutbox(in: folder)
        default: throw UsageError()
        }
    }

    struct UsageError: Error {}
}
