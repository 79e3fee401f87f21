import CloakroomBenchSupport
import CloakroomKit
import CloakroomTiers
import Foundation

/// Does what the bars of tiers measure, a scenario in a process of its own, and writes its numbers as lines `NAME VALUE`.
@main enum TierBench {
    private static let usage = """
        usage: tier-bench SCENARIO FOLDER [NAME=VALUE]…

        On the store that s3=URL, worker=URL, user=U and token=FILE name:
          fill         adds photos to a store in FOLDER: count, bytes, days (since then), upload (added or due)
          run          runs that store once: writes=yes counts what SQLite writes
          join         makes the catalog of one more device, in an empty FOLDER
          cold         opens its photos from number first on, count of them, each beside a plain GET
          callers      100 callers open its photo of number first

        On a bucket in memory, in an empty FOLDER:
          hot          opens count photos of so many bytes, opens times, each beside open, read and close
          thumbnails   reads count thumbnails in pages of 60, rounds times, each beside as many files
          snapshots    publishes count photos, then more of them on each of 30 days
          rebuild      makes the catalog of count photos anew
          idle         runs a store of count photos that has nothing to do
          migration    moves count photos of so many bytes from the table blobs, all older than 30 days but every 12th
        """

    static func main() async {
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            // Not on the main thread: a change of threads would be measured with each call.
            let results = try await Task.detached { try await run(arguments) }.value
            for (name, value) in results.sorted(by: { $0.key < $1.key }) { print(name, value) }
        } catch {
            FileHandle.standardError.write(Data("tier-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> [String: Double] {
        switch arguments.scenario {
        case "fill": try await Fill(arguments).run()
        case "run": try await OneRun(arguments).run()
        case "join": try await Joining(arguments).run()
        case "cold": try await ColdOpening(arguments).run()
        case "callers": try await Callers(arguments).run()
        case "hot": try await HotOpening(arguments).run()
        case "thumbnails": try await Thumbnails(arguments).run()
        case "snapshots": try await Snapshots(arguments).run()
        case "rebuild": try await Rebuilding(arguments).run()
        case "idle": try await IdleRun(arguments).run()
        case "migration": try await Migration(arguments).run()
        default: throw BenchError(usage)
        }
    }
}
