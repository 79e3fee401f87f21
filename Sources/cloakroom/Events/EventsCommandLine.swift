import CloakroomLoop
import CloakroomRedis
import CloakroomServer

/// A command line that takes one settings file with events, and the way from it to their stream.
struct EventsCommandLine {
    let settings: Settings
    let events: Settings.Events

    init(_ options: Options) throws(EarlyExit) {
        let file = try options.settingsFile()
        settings = try SettingsFile.require(file)
        guard let events = settings.events else {
            throw .failure("events.stream is missing in \(file): there are no events")
        }
        self.events = events
    }

    /// Runs the loop until the body is done with the stream.
    func withStream(
        writes: Bool = false,
        _ body: @escaping @LoopActor @Sendable (EventStream) async throws(RedisError) -> ExitStatus
    ) -> ExitStatus {
        let (settings, events) = (settings, events)
        return .onLoop {
            let redis: any RedisClient
            do throws(NoAuthoritiesError) {
                redis = try settings.redis.clientForPeople(atLeast: .seconds(5), writes: writes)
            } catch {
                return Output.fail("\(error)")
            }
            defer { redis.close() }
            await redis.settle(within: .seconds(5))
            do throws(RedisError) {
                return try await body(
                    EventStream(redis: redis, settings: events, keyPrefix: settings.redis.keyPrefix))
            } catch {
                return Output.fail(UserCommandLine.sentence(.redis(error), settings.redis))
            }
        }
    }
}
