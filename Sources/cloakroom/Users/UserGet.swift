import CloakroomOperations
import CloakroomServer

/// `cloakroom user get`
enum UserGet {
    static func run(_ arguments: [String]) -> ExitStatus {
        switch UserCommandLine.read(arguments, of: .userGet) {
        case .failure(let ended): return ended.status
        case .success(let line):
            guard let user = line.user else { return .usage }
            let isJSON = line.options.flags.contains("json")
            return line.withRecords { records in
                guard let record = try await records.wholeRecord(of: user) else {
                    return Output.fail("there is no record of \(user.text)")
                }
                return Output.print(isJSON ? record.json(of: user) : record.lines(of: user))
            }
        }
    }
}
