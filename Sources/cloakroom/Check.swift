import AWS
import Service

/// `cloakroom check`
enum Check {
    static func run(_ arguments: [String]) -> ExitStatus {
        let options: Options
        do { options = try Options(arguments, names: []) } catch {
            return Output.usage("\(error)", see: "cloakroom check --help")
        }
        if options.wantsHelp { return Output.print(help) }
        guard options.operands.count == 1, let file = options.operands.first else {
            return Output.usage("check takes one settings file", see: "cloakroom check --help")
        }
        do {
            let settings = try SettingsFile.load(file)
            let chain = AWSCredentials.chain(settings.aws, transport: NoTransport(), surroundings: Surroundings())
            let origin = try chain.outlook()
            let multipart = settings.uploads.idKeys.isEmpty ? "none: uploads.idKeys is not set" : "set up"
            return Output.print("\(file): good\nAWS credentials: \(origin)\nUploads in parts: \(multipart)")
        } catch let error as CredentialFault {
            return Output.fail("\(file) is good, but there are \(error)")
        } catch {
            return Output.fail("\(file) has faults:\n\(error)")
        }
    }

    private static let help = """
        Usage: cloakroom check SETTINGS

        Reads a settings file as `serve` would, with the environment and the files it names, and tells all that is
        wrong: where, why, and what to do about it; then, where the worker's AWS credentials would come from. Nothing is
        asked of the network.

        Exit status: 0 good, 1 it has faults, 2 the command line was not understood.

        Examples:
          cloakroom check cloakroom.json5
          cloakroom check /etc/cloakroom/cloakroom.json5 && systemctl reload cloakroom
        """
}
