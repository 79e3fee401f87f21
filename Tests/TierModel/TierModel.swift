import Foundation

/// Runs random schedules of devices against the model, and prints the shortest one that fails.
///
/// usage: `tier-model [--schedules N] [--seed N] [--failures N]`: schedule number `i` has the seed `N + i`. It ends
/// with 1 when one fails; after so many different failures, or the first one.
@main
enum TierModel {
    static func main() throws {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            print("usage: tier-model [--schedules N] [--seed N] [--failures N]")
            exit(2)
        }
        exit(try checkSchedules(options) ? 0 : 1)
    }
}
