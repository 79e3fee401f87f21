import CloakroomOperations
import CloakroomServer

/// `cloakroom user delete`
enum UserDelete: UserCommand {
    static let syntax = CommandSyntax("user delete", "delete the record", operands: [.text, .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        return line.withRecords { records in
            guard try await records.delete(user) else { return Output.fail("there is no record of \(user.text)") }
            return .success
        }
    }
}
