import CloakroomLoop
import CloakroomOperations
import CloakroomRedis
import CloakroomServer

/// The command line of a command about users' records, and the way from it to them.
struct UserCommandLine {
    let settings: Settings

    /// - Parameter options: with the settings file as the only operand.
    init(_ options: Options) throws(EarlyExit) {
        self.init(settings: try Self.settings(try options.settingsFile(usage: "this takes one settings file")))
    }

    init(settings: Settings) { self.settings = settings }

    /// - Parameter options: with a user's id before the settings file.
    static func ofUser(_ options: Options) throws(EarlyExit) -> (line: Self, user: UserID) {
        guard options.operands.count == 2 else { throw .usage("this takes a user's id and one settings file") }
        guard let user = UserID(options.operands[0]) else {
            throw .usage("that is no user id: it has 1 to 64 letters, digits, - and _")
        }
        return (Self(settings: try settings(options.operands[1])), user)
    }

    private static func settings(_ file: String) throws(EarlyExit) -> Settings {
        let settings = try SettingsFile.require(file)
        guard settings.entitlements.enabled else {
            throw .failure("entitlements.enabled is false in \(file): no worker would read what this writes")
        }
        return settings
    }

    /// Runs the loop until the body is done with the records.
    func withRecords(_ body: @escaping @LoopActor @Sendable (UserRecords) async throws -> ExitStatus) -> ExitStatus {
        let settings = settings
        return .onLoop {
            do {
                let redis = try settings.redis.clientForPeople(atLeast: .seconds(5))
                defer { redis.close() }
                await redis.settle(within: .seconds(5))
                return try await body(UserRecords(redis: redis, keyPrefix: settings.redis.keyPrefix))
            } catch let error as UserRecordError {
                return Output.fail(Self.sentence(error, settings.redis))
            } catch let error as UserRecords.UnendedSharing {
                return Output.fail(UserSharing.sentence(error, settings.redis))
            } catch let error as RecordChangeError {
                if case .records(let error) = error { return Output.fail(Self.sentence(error, settings.redis)) }
                return Output.fail(error.sentence ?? "\(error)")
            } catch {
                return Output.fail("\(error)")
            }
        }
    }

    static func sentence(_ error: UserRecordError, _ redis: Settings.Redis) -> String {
        switch error {
        case .malformed(let field?):
            "the record's \(field.rawValue) holds what no command writes; set it anew, or delete the record"
        case .malformed(nil): "the record's key holds something else; delete the record"
        case .redis(.refused(code: "MOVED")):
            "slots of the cluster at \(redis.servers) have moved meanwhile, and some keys may be missing; run this again"
        case .redis(.refused(let code)): "Redis at \(redis.servers) refuses with \(code); may this user do that there?"
        case .redis(let error):
            "Redis at \(redis.servers) does not respond (\(error.label)); is it running, and is \(redis.servers.key) right?"
        }
    }
}
