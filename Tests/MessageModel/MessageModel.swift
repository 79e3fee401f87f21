import Foundation

/// Checks the laws that registers, cuts and states join by; then runs random schedules of devices, and prints the
/// shortest one that fails.
///
/// usage: `message-model [--schedules N] [--laws N] [--seed N]`: schedule number `i` has the seed `N + i`. It ends
/// with 1 when something fails. With `--measure` it runs all schedules, and writes how often what failed.
@main
enum MessageModel {
    static func main() {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            print("usage: message-model [--schedules N] [--laws N] [--seed N] [--measure]")
            exit(2)
        }
        if options.measures { exit(measureSchedules(options) ? 0 : 1) }
        exit(checkLaws(options) && checkSchedules(options) ? 0 : 1)
    }
}
