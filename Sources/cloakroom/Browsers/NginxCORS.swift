import CloakroomOperations
import CloakroomServer

/// `cloakroom nginx-cors`
enum NginxCORS: Command {
    static let syntax = CommandSyntax(
        "nginx-cors", "nginx's list of the web pages that may call", values: ["output": .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let text = NginxOrigins(try SettingsFile.require(try options.settingsFile()).web).text
        guard let path = options.values["output"] else { return Output.print(String(text.dropLast())) }
        do throws(StateFile.FileError) { try StateFile.write(text, to: path) } catch { return Output.fail("\(error)") }
        return .success
    }

    static let help = """
        Usage: cloakroom nginx-cors [--output FILE] SETTINGS

        Prints nginx's file cors.conf for web.origins: the web pages whose code may read responses in a browser. nginx
        takes it with a reload. Without origins it is the file that comes with nginx/.

        Options:
          --output FILE  replace this file, as a whole or not at all, instead of printing

        Exit status: 0 printed or written, 1 the settings have faults or the file cannot be written, 2 the command line
        was not understood.

        Examples:
          cloakroom nginx-cors /etc/cloakroom/cloakroom.json5
          cloakroom nginx-cors --output /etc/nginx/cloakroom/cors.conf /etc/cloakroom/cloakroom.json5
        """
}
