import CloakroomAWS
import CloakroomLoop
import CloakroomServer

/// `cloakroom lifecycle plan-prefixes`
enum LifecyclePlanPrefixes {
    static func run(_ arguments: [String]) -> ExitStatus {
        let line: LifecycleCommandLine
        do throws(LifecycleCommandLine.EarlyExit) {
            line = try LifecycleCommandLine(arguments, of: .lifecyclePlanPrefixes, help: help)
        } catch { return error.status }
        let (options, settings, see) = (line.options, line.settings, "cloakroom lifecycle plan-prefixes --help")
        guard let rate = Int(options.values["requests-per-second"] ?? "10"), (1...1000).contains(rate) else {
            return Output.usage("--requests-per-second takes 1…1000", see: see)
        }
        let kept =
            options.values["keep"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        guard kept.allSatisfy({ $0.count > 1 && $0.hasSuffix("/") }) else {
            return Output.usage("--keep takes folders that end in /, with commas between them", see: see)
        }
        do throws(PrefixPlan.Refusal) {
            let plan = try PrefixPlan(settings, keeping: kept)
            let printed = Output.print(plan.text(settings.userFolders, keeping: kept))
            // Other prefixes than those of names in the bucket itself are whole folders of the settings.
            guard plan.shortestName > 0, !options.flags.contains("offline") else { return printed }
            let permissions = "it takes s3:ListBucket; --offline does without"
            return line.withUpstreams(permissions: permissions, maximumResponseBytes: ObjectPage.maximumBytes) {
                let matches = RootMatches(plan, settings, keeping: kept)
                return try await look(matches, LifecycleCount(s3: $0.s3, interval: .seconds(1) / rate))
            }
        } catch {
            switch error {
            case .overlapsFolders(let place, let folders):
                let location = place.isEmpty ? "in the bucket itself" : "in \(place)"
                return Output.fail(
                    "there is no such list: assets are \(location), and so are users' folders"
                        + " (\(folders.map { $0 + "USER/" }.joined(separator: ", "))); set uploads.keyPrefix: \"assets/\","
                        + " and let the older assets stay")
            }
        }
    }

    @LoopActor
    private static func look(_ matches: RootMatches, _ listing: LifecycleCount) async throws(AWSError) -> ExitStatus {
        let matches = try await listing.root(matches)
        matches.lines.forEach { Output.print($0) }
        guard !matches.isEmpty else { return .success }
        return Output.fail(
            "rules for these prefixes would delete more than assets: give --keep FOLDER/ for each folder that is to stay, and"
                + " move objects that are to stay into one")
    }

    private static let help = """
        Usage: cloakroom lifecycle plan-prefixes [--keep FOLDER/,…] [--offline] SETTINGS

        Prints lifecycle.prefixes for the places of assets in the settings (uploads.keyPrefix, renewal.keyPrefix,
        renewal.formerPrefixes) that meet no user's folder, and the proof of it. For assets in the bucket itself,
        beside users' folders, these are the hexadecimal digits that names of assets begin with, split where a folder
        begins alike: S3 rules cannot leave anything out. For these the bucket is listed, without what is in its folders:
        folders that the settings do not name, and objects with other names than assets', are printed when one of the
        prefixes matches them.

        Options:
          --keep FOLDER/,…   other folders that are to stay: the prefixes are split around them as well
          --offline          do not list the bucket
          --requests-per-second N
                             of the listing, 1…1000; 10

        Exit status: 0 printed, 1 there is no such list, other objects are under it, or the bucket cannot be listed, 2 the
        command line was not understood.

        Examples:
          cloakroom lifecycle plan-prefixes cloakroom.json5
          cloakroom lifecycle plan-prefixes --keep backups/,exports/ cloakroom.json5
        """
}
