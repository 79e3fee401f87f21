import Service

/// `cloakroom lifecycle plan-prefixes`
enum LifecyclePlanPrefixes {
    static func run(_ arguments: [String]) -> ExitStatus {
        let line: LifecycleCommandLine
        do throws(LifecycleCommandLine.Ended) {
            line = try LifecycleCommandLine(arguments, of: .lifecyclePlanPrefixes, help: help)
        } catch { return error.status }
        let users = line.settings.userFolders
        do throws(PrefixPlan.Refusal) {
            return Output.print(try PrefixPlan(line.settings).text(users))
        } catch {
            switch error {
            case .meetsFolders(let place, let folders):
                let location = place.isEmpty ? "in the bucket itself" : "in \(place)"
                return Output.fail(
                    "there is no such list: assets are \(location), and so are users' folders"
                        + " (\(folders.map { $0 + "USER/" }.joined(separator: ", "))); set uploads.keyPrefix: \"assets/\","
                        + " and let the older assets stay")
            }
        }
    }

    private static let help = """
        Usage: cloakroom lifecycle plan-prefixes SETTINGS

        Prints lifecycle.prefixes for the places of assets in the settings (uploads.keyPrefix, renewal.keyPrefix,
        renewal.formerPrefixes) that meet no user's folder, and the proof of it. For assets in the bucket itself,
        beside users' folders, these are the hexadecimal digits that names of assets begin with, split where a folder
        begins alike: S3 rules cannot leave anything out. Nothing is asked of the network.

        Exit status: 0 printed, 1 there is no such list, 2 the command line was not understood.

        Examples:
          cloakroom lifecycle plan-prefixes cloakroom.json5
        """
}
