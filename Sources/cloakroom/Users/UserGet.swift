import CloakroomOperations
import CloakroomServer

/// `cloakroom user get`
enum UserGet: UserCommand {
    static let syntax = CommandSyntax("user get", "show the record", flags: ["json"], operands: [.text, .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        let isJSON = options.flags.contains("json")
        return line.withRecords { records in
            guard let record = try await records.wholeRecord(of: user) else {
                return Output.fail("there is no record of \(user.text)")
            }
            return Output.print(isJSON ? record.json(of: user) : record.lines(of: user))
        }
    }
}
