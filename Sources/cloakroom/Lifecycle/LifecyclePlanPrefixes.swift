import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom lifecycle plan-prefixes`
enum LifecyclePlanPrefixes: Command {
    static let syntax = CommandSyntax(
        "lifecycle plan-prefixes", "print lifecycle.prefixes that meet no user's folder, for an existing bucket",
        values: ["keep": .text, "requests-per-second": .text], flags: ["offline"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let settings = line.settings
        let interval = try options.requestInterval()
        guard let kept = folders(options.values["keep"]) else {
            throw .usage(
                "--keep takes folders that end in / and begin with neither / nor white space, with commas between them")
        }
        do throws(PrefixPlan.Refusal) {
            // Images of chats have a rule of their own.
            let spared = kept + [settings.chatPrefix?.prefix].compactMap(\.self)
            let plan = try PrefixPlan(settings, keeping: spared)
            let printed = Output.print(plan.text(settings.userFolders, keeping: spared))
            // Other prefixes than those of names in the bucket itself are whole folders of the settings.
            guard plan.shortestName > 0, !options.flags.contains("offline") else { return printed }
            let permissions = "it takes s3:ListBucket; --offline does without"
            return line.withUpstreams(permissions: permissions, maximumResponseBytes: ObjectPage.maximumBytes) {
                let matches = RootMatches(plan, settings, keeping: kept)
                return try await look(matches, kept, LifecycleCount(s3: $0.s3, interval: interval))
            }
        } catch {
            switch error {
            case .overlapsFolders(let place, let folders):
                let location = place.isEmpty ? "in the bucket itself" : "in \(place)"
                return Output.fail(
                    "there is no such list: assets are \(location), and so are users' folders"
                        + " (\(folders.map { $0 + "USER/" }.joined(separator: ", "))); set uploads.keyPrefix: \"assets/\","
                        + " and let the older assets stay")
            case .overlapsKept(let place, let kept):
                let reason =
                    kept.utf8.starts(with: place.utf8)
                    ? "\(kept) is under \(place), where assets are, and S3 rules cannot leave anything out; move what is"
                        + " to stay into a folder beside \(place)"
                    : "assets are in \(place), which is under \(kept); give --keep the other folders in \(kept)"
                return Output.fail("there is no such list: \(reason)")
            }
        }
    }

    /// Reads the value of `--keep`.
    ///
    /// - Returns: `nil` where one cannot be a folder beside assets: a key that begins with `/` or white space is more likely
    ///   a slip, and the proof would be about a folder that is not there.
    static func folders(_ text: String?) -> [String]? {
        guard let text else { return [] }
        let folders = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        let areGood = folders.allSatisfy { folder in
            folder.hasSuffix("/") && !folder.hasPrefix("/") && folder.first?.isWhitespace == false
        }
        return areGood ? folders : nil
    }

    @LoopActor
    private static func look(
        _ matches: RootMatches, _ kept: [String], _ listing: LifecycleCount
    ) async throws(AWSError) -> ExitStatus {
        let matches = try await listing.root(matches)
        matches.lines.forEach { Output.print($0) }
        for folder in try await listing.absent(kept) {
            Output.print("// \(folder) is not in the bucket: no key begins with it; is --keep right?")
        }
        guard !matches.isEmpty else { return .success }
        return Output.fail(
            "rules for these prefixes would delete more than assets: give --keep FOLDER/ for each folder that is to stay, and"
                + " move objects that are to stay into one")
    }

    static let help = """
        Usage: cloakroom lifecycle plan-prefixes [--keep FOLDER/,…] [--offline] SETTINGS

        Prints lifecycle.prefixes for the places of assets in the settings (uploads.keyPrefix, renewal.keyPrefix,
        renewal.formerPrefixes) that meet no user's folder, and the proof of it. For assets in the bucket itself,
        beside users' folders, these are the hexadecimal digits that names of assets begin with, split where a folder
        begins alike: S3 rules cannot leave anything out. For these the bucket is listed, without what is in its folders:
        folders that the settings do not name, and objects with other names than assets', are printed when one of the
        prefixes matches them.

        Options:
          --keep FOLDER/,…   other folders that are to stay: the prefixes are split around them as well, and it is said
                             which of them are not in the bucket; none can be in a folder of assets, or have one within
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
