import CloakroomOperations
import CloakroomServer

/// `cloakroom user disable`, `enable` and `delete`
enum UserSwitch {
    enum Action {
        case disable, enable, delete

        var syntax: CommandSyntax {
            switch self {
            case .disable: .userDisable
            case .enable: .userEnable
            case .delete: .userDelete
            }
        }
    }

    static func run(_ action: Action, _ arguments: [String]) -> ExitStatus {
        switch UserCommandLine.read(arguments, of: action.syntax) {
        case .failure(let ended): return ended.status
        case .success(let line):
            guard let user = line.user else { return .usage }
            let reason = line.options.values["reason"] ?? "operator"
            guard (1...200).contains(reason.utf8.count), reason.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                return Output.usage("--reason takes one line of up to 200 bytes", see: "cloakroom user --help")
            }
            return line.withRecords { records in
                switch action {
                case .disable: try await records.disable(user, reason: reason)
                case .enable: try await records.enable(user)
                case .delete:
                    guard try await records.delete(user) else {
                        return Output.fail("there is no record of \(user.text)")
                    }
                }
                return .success
            }
        }
    }
}
