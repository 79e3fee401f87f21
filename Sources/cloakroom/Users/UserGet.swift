import CloakroomOperations
import CloakroomServer

/// `cloakroom user get`
enum UserGet: UserCommand {
    static let syntax = UserCommandLine.syntax("user get", "show the record", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        let (settings, isJSON) = (line.settings, options.flags.contains("json"))
        return line.withRecords { records in
            guard let record = try await records.wholeRecord(of: user) else {
                return Output.fail("there is no record of \(user.text)")
            }
            let isUnknown = settings.lacksTier(of: record)
            return Output.print(
                isJSON
                    ? record.json(of: user, isTierUnknown: isUnknown) : record.lines(of: user, isTierUnknown: isUnknown)
            )
        }
    }
}
