import CloakroomLoop
import CloakroomRedis
import CloakroomServer

/// The command line of a `cloakroom user …`, and the way from it to the records.
struct UserCommandLine {
    let options: Options
    let settings: Settings
    /// `nil` for commands about no one in particular.
    let user: UserID?

    /// - Parameter takesUser: whether an id stands before the settings file.
    /// - Returns: how to end, when there is nothing more to do.
    static func read(
        _ arguments: [String], of syntax: CommandSyntax, takesUser: Bool = true, help: String = UserCommand.help,
        see command: String = "cloakroom user --help"
    ) -> Result<UserCommandLine, EarlyExit> {
        let options: Options
        do { options = try Options(arguments, of: syntax) } catch {
            return .failure(EarlyExit(Output.usage("\(error)", see: command)))
        }
        if options.wantsHelp { return .failure(EarlyExit(Output.print(help))) }
        guard options.operands.count == (takesUser ? 2 : 1), let file = options.operands.last else {
            let expected = takesUser ? "a user's id and one settings file" : "one settings file"
            return .failure(EarlyExit(Output.usage("this takes \(expected)", see: command)))
        }
        var user: UserID?
        if takesUser {
            user = UserID(options.operands[0])
            guard user != nil else {
                let cause = "that is no user id: it has 1 to 64 letters, digits, - and _"
                return .failure(EarlyExit(Output.usage(cause, see: command)))
            }
        }
        do throws(SettingsErrors) {
            let settings = try SettingsFile.load(file)
            guard settings.entitlements.enabled else {
                return .failure(
                    EarlyExit(
                        Output.fail("entitlements.enabled is false in \(file): no worker would read what this writes")))
            }
            return .success(UserCommandLine(options: options, settings: settings, user: user))
        } catch {
            return .failure(EarlyExit(Output.fail("\(file) has faults:\n\(error)")))
        }
    }

    struct EarlyExit: Error {
        let status: ExitStatus

        init(_ status: ExitStatus) { self.status = status }
    }

    /// Runs the loop until the body is done with the records.
    func withRecords(_ body: @escaping @LoopActor @Sendable (UserRecords) async throws -> ExitStatus) -> ExitStatus {
        let settings = settings
        let status = LoopActor.run {
            do {
                let redis = try settings.redis.clientForPeople(atLeast: .seconds(5))
                defer { redis.close() }
                await redis.settle(within: .seconds(5))
                return try await body(UserRecords(redis: redis, keyPrefix: settings.redis.keyPrefix)).rawValue
            } catch let error as UserRecordError {
                return Output.fail(Self.sentence(error, settings.redis)).rawValue
            } catch {
                return Output.fail("\(error)").rawValue
            }
        }
        return ExitStatus(rawValue: status) ?? .failure
    }

    private static func sentence(_ error: UserRecordError, _ redis: Settings.Redis) -> String {
        switch error {
        case .malformed(let field?):
            "the record's \(field.rawValue) holds what no command writes; set it anew, or delete the record"
        case .malformed(nil): "the record's key holds something else; delete the record"
        case .redis(.refused(let code)): "Redis at \(redis.address) refuses with \(code); may this user do that there?"
        case .redis(let error):
            "Redis at \(redis.address) does not respond (\(error.label)); is it running, and is redis.address right?"
        }
    }
}
