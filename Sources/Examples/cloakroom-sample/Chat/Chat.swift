import CloakroomKit
import CloakroomMessages
import Foundation

/// `cloakroom-sample chat`: a conversation between processes on this machine.
enum Chat {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "peers", "clock", "as"])
        if options.wantsHelp { return Console.print(help) }
        let names = (options.values["peers"] ?? "anna,ben").split(separator: ",").map(String.init)
        guard (2...8).contains(names.count), Set(names).count == names.count, names.allSatisfy(isName) else {
            throw UsageError("--peers is 2 to 8 different names of letters and digits, not all and not clock")
        }
        if let name = options.values["as"] { return try await ChatPeer.run(name, of: names, options) }
        let passed = try options.values["clock"].map(ChatStep.seconds) ?? 0
        let steps = try options.operands.map { try ChatStep($0, peers: names) }
        let hub = try ChatHub(names, folder: try Account.folder(options))
        defer { hub.end() }
        try hub.connect()
        if passed > 0 { _ = try hub.pass(passed) }
        guard steps.isEmpty else { return try steps.allSatisfy(hub.perform) ? 0 : 1 }
        return try converse(names, hub)
    }

    /// Steps from standard input, until its end.
    private static func converse(_ names: [String], _ hub: ChatHub) throws -> Int32 {
        var status: Int32 = 0
        while let line = readLine() {
            guard !line.allSatisfy(\.isWhitespace) else { continue }
            do {
                if try !hub.perform(ChatStep(line, peers: names)) { status = 1 }
            } catch let error as UsageError {
                Console.printError("\(error)")
                status = 1
            }
        }
        return status
    }

    /// One that is a folder's name, too.
    private static func isName(_ name: String) -> Bool {
        !["all", "clock"].contains(name) && name.utf8.count <= 32
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    private static let help = """
        Usage: cloakroom-sample chat [--peers NAMES] [--clock TIME] [STEP…]

        A conversation whose messages end, with CloakroomMessages. Each peer is a process with a folder of its own in
        the folder of the records; pipes between them stand for the app's encrypted channel. They say how long messages
        are kept, and the strictest holds. Without steps, standard input has one in each line. What was agreed and
        stored is there in the next run. Images need an account: sign each peer in, with --state FOLDER/NAME.

        Steps:
          NAME policy TIME          keeps new messages for 1h, 24h, 1w or the like; none: nothing is stored; keep: no
                                    end
          NAME policy TIME history  counts which messages that are here would be over; with confirm behind, ends them
          NAME say TEXT             sends a message
          NAME image FILE           uploads an image, and sends a message with it
          NAME import FOLDER        counts the messages in files of an app from before the library, PEER.json for each
                                    other peer; with confirm behind, moves them here, and erases the files
          NAME show                 what holds, and the messages, the oldest first
          NAME purge                removes what is over: messages, files and keys
          NAME release              has the bucket delete the images of messages that this peer uploaded and purged
          NAME delete               counts this peer's messages; with confirm behind, deletes them
          clock TIME                time passes for all peers, such as 61m; in later runs it has passed
        In the place of NAME, all is each of them in turn.

        Options:
          --peers NAMES   2 to 8, with commas between them; anna,ben
          --clock TIME    time that passes before the first step, as the step clock
          --as NAME       is one of the peers, for the chat that starts it: requests and replies are lines of JSON

        Examples:
          cloakroom-sample chat "all policy 1h" "anna say See you at eight" "all show"
          cloakroom-sample chat --clock 65m "all show" "all purge"

          cloakroom-sample sign-in --state ~/.local/state/cloakroom-sample/anna …
          cloakroom-sample chat "all policy 1h" "anna image me.jpg" "clock 65m" "all purge" "all release"

        Exit status: 0 done, 1 a step failed, and those behind it were left out; 2 the command line was not understood.
        """
}
