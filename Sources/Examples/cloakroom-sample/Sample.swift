import CloakroomKit
import Foundation

/// Finds the command; each has a file of its own.
enum Sample {
    /// - Returns: the exit status: 0 done, 1 failed, 2 the command line was not understood.
    static func run(_ arguments: [String]) async -> Int32 {
        let rest = Array(arguments.dropFirst())
        do {
            switch arguments.first {
            case "sign-in": return try await SignIn.run(rest)
            case "sign-out": return try await SignOut.run(rest)
            case "outbox": return try await OutboxCommand.run(rest)
            case "backup": return try await Backup.run(rest)
            case "restore": return try await Restore.run(rest)
            case "list": return try await List.run(rest)
            case "show": return try await Show.run(rest)
            case "upload": return try await Upload.run(rest)
            case "renew": return try await Renew.run(rest)
            case "expiring": return try await Expiring.run(rest)
            case "tier": return try await Tier.run(rest)
            case "chat": return try await Chat.run(rest)
            case "--help", "-h", "help": return Console.print(help)
            case let other: throw UsageError(other.map { "there is no command \($0)" } ?? "a command is missing")
            }
        } catch let error as UsageError {
            Console.printError("\(error); see: cloakroom-sample --help")
            return 2
        } catch {
            Console.printError("\(error)")
            return 1
        }
    }

    private static let help = """
        Usage: cloakroom-sample COMMAND …

        What an app does with CloakroomKit, CloakroomTiers and CloakroomMessages, as a program: backs up a folder of
        photos, renews uploaded images, shows what expires when, keeps recent photos here and older ones in S3, and has
        a conversation whose messages end. It works against the stack that deploy/run starts.

        Commands:
          sign-in           keeps the account, for all other commands
          sign-out          forgets it, and says what becomes of unsent uploads
          backup FOLDER     stores the photos that S3 does not have yet
          restore FOLDER    fetches them from S3
          list              what S3 has
          show KEY|MD5|URL  writes an image, a part of it, or a presigned URL
          upload FILE       stores one image under a new URL, and remembers that
          outbox COMMAND    uploads that survive the end of the program: add, run, list, retry
          renew [FILE]      renews the images whose URLs stand in a file; without one, those that were uploaded
          expiring          when each of these is renewed next, and when it would expire
          tier COMMAND      photos in tiers: add, list, open, run, free, restore, usage, rebuild
          chat [STEP…]      a conversation between processes, whose messages end

        Options of every command:
          --state FOLDER    where it keeps its records; ~/.local/state/cloakroom-sample
          --help            the command's options

        Example, after deploy/run in another terminal:
          . .state/stack.env
          "$CLOAKROOM" token mint --user u_1 --device laptop "$SETTINGS" >token
          cloakroom-sample sign-in --endpoint "$URL" --s3-endpoint "$S3" --user u_1 --token-file token
          cloakroom-sample backup ~/Pictures

        Exit status: 0 done, 1 failed or something is left to do, 2 the command line was not understood.
        """
}
