import CloakroomOperations
import CloakroomServer

/// `cloakroom init`
enum InitCommand: Command {
    static let syntax = CommandSyntax(
        "init", "write a settings file and its secrets to begin with",
        values: [
            "issuer": .text, "bucket": .text, "region": .text, "endpoint": .text, "role-arn": .text, "redis": .text,
            "audit-file": .file,
        ],
        flags: Set(FirstSettings.Store.allCases.map(\.rawValue) + ["chats"]), operands: [.folder])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let stores = options.flags.subtracting(["chats"])
        guard stores.count <= 1 else { throw .usage("one store, of --aws, --seaweedfs and --ceph") }
        guard options.operands.count <= 1 else { throw .usage("init takes one folder") }
        var settings = FirstSettings(stores.first.flatMap { FirstSettings.Store(rawValue: $0) } ?? .aws)
        settings.chats = options.flags.contains("chats")
        settings.issuer = options.values["issuer"]
        settings.bucket = options.values["bucket"] ?? settings.bucket
        settings.region = options.values["region"] ?? settings.region
        settings.endpoint = options.values["endpoint"] ?? settings.endpoint
        settings.roleARN = options.values["role-arn"] ?? settings.roleARN
        settings.redis = options.values["redis"] ?? settings.redis
        settings.auditFile = options.values["audit-file"]
        var files = NewFiles(folder: options.operands.first ?? ".")
        do throws(NewFiles.WriteError) {
            for file in settings.secrets() { try files.write(file.secret.reveal() + "\n", to: file.path, mode: 0o600) }
            try files.write(settings.text, to: name, mode: 0o644)
        } catch {
            files.remove()
            throw .failure("\(error); nothing was written")
        }
        return Output.print(next(files))
    }

    private static let name = "cloakroom.json5"

    private static func next(_ files: NewFiles) -> String {
        let file = files.path(name)
        return """
            Written: \(files.written.joined(separator: ", "))

            Next, once the settings name your bucket, role and issuer:
              cloakroom check \(file)
              cloakroom doctor \(file)
              cloakroom serve --workers 2 --listen unix:/run/cloakroom/worker-%d.sock \(file)

            Other hosts of the same deployment get copies of these files: init would draw other secrets there.
            """
    }

    static let help = """
        Usage: cloakroom init [--aws | --seaweedfs | --ceph] [--chats] [options] [FOLDER]

        Writes cloakroom.json5, with every setting and what it is for, and beside it the secrets that it names, each
        readable by its owner alone. Overwrites nothing.

        Options:
          --aws              for S3 and STS of AWS (default)
          --seaweedfs        for SeaweedFS; secrets/s3 is the secret of the access key "cloakroom"
          --ceph             for a RADOS Gateway; likewise
          --issuer URL       an OpenID Connect issuer that publishes its keys; without it tokens are signed with the
                             secret in secrets/token
          --bucket NAME      the bucket
          --region NAME      its Region
          --endpoint URL     of S3 and STS
          --role-arn ARN     the role that users' sessions assume
          --chats            images of chats lie under chats/ and can be released; the address of one then tells that it
                             is of a chat
          --redis ADDRESS    host:port, or unix: and a path
          --audit-file PATH  where the audit lines go; without it, to standard error, and so to what reads the log

        FOLDER is made if it is not there; without it, the current one.

        Exit status: 0 written, 1 not, 2 the command line was not understood.

        Examples:
          cloakroom init --issuer https://auth.example.com --bucket photos \\
            --audit-file /var/log/cloakroom/audit.log /etc/cloakroom
          cloakroom init --seaweedfs --endpoint http://127.0.0.1:8333
        """
}
