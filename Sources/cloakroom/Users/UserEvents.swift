import CloakroomLoop
import CloakroomRedis
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Events of what a command has done to a user.
enum UserEvents {
    private static let attempts = 4

    /// Returns when Redis has them, which the operator should not have to guess; does nothing where there are no events.
    ///
    /// - Returns: a failure, already told, when Redis does not take them.
    @LoopActor
    static func tell(
        _ kinds: [Event.Kind], of user: UserID, _ records: UserRecords, _ settings: Settings
    ) async -> ExitStatus {
        guard let events = settings.events else { return .success }
        var ids = EventIDs()
        let texts = kinds.map { Event(id: ids.next(), $0, user: user.text, time: Date()).text }
        let stream = EventStream(redis: records.redis, settings: events, keyPrefix: settings.redis.keyPrefix)
        var failure = RedisError.unavailable
        for attempt in 0..<attempts {
            if attempt > 0 { try? await LoopActor.sleep(for: .milliseconds(250)) }
            do throws(RedisError) {
                let trimmed = try await stream.add(texts)
                if trimmed > 0, events.webhook != nil {
                    Output.note("the stream of events is full: \(trimmed) that waited are lost for this one")
                }
                return .success
            } catch {
                failure = error
            }
        }
        return Output.fail(
            "that is done for \(user.text), but Redis did not take the event of it (\(failure.label)): "
                + "\(failure.advice); then run this again")
    }
}
