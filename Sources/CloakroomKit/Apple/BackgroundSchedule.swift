import Foundation

/// The schedule of the user who is signed in when work in the background begins: the work is registered before the app knows
/// who that is, and once in a process.
struct BackgroundSchedule: Sendable {
    /// - Returns: `nil` without a user.
    let current: @Sendable () async -> WorkSchedule?

    func runDue() async { await current()?.runDue() }

    /// When something is due; `nil` without a user, and where the schedule cannot be read.
    func nextDate() async -> Date? { try? await current()?.nextDate() }
}
