import CloakroomOperations
import CloakroomServer

/// All commands, in the order of the help.
enum CommandTable {
    static let commands: [CommandSyntax] = [
        .initialization, .settings, .serve, .status, .check, .doctor, .auditVerify, .lifecycleShow, .lifecycleApply,
        .lifecycleVerify, .lifecyclePlanPrefixes, .lifecycleValidate, .lifecycleCanary, .policyShow, .policyTest,
        .renew, .tokenMint, .usageScan, .userSet, .userGet, .userDisable, .userEnable, .userDelete, .userList,
        .userRevoke, .completions,
    ]

    /// What begins with one word: a command, or several.
    struct Entry {
        let name: String
        let summary: String
        /// Their second words are the names; empty where the word itself is the command.
        let subcommands: [CommandSyntax]
    }

    static let entries: [Entry] = {
        var names: [String] = []
        for command in commands where !names.contains(command.words[0]) { names.append(command.words[0]) }
        return names.map { name in
            let found = commands.filter { $0.words[0] == name }
            let isGroup = found[0].words.count > 1
            return Entry(
                name: name, summary: groups[name] ?? found[0].summary, subcommands: isGroup ? found : [])
        }
    }()

    /// What several commands are about.
    private static let groups = [
        "lifecycle": "the bucket's rules that let objects expire",
        "policy": "what credentials allow",
        "user": "what a user may do",
    ]

    /// The commands as the help lists them, in lines of at most 80 characters.
    static var help: String {
        let lines = entries.map { entry in
            let names = entry.subcommands.map { $0.words[1] }
            return names.count == 1
                ? (label: "  \(entry.name) \(names[0])", text: entry.summary)
                : (
                    label: "  \(entry.name)",
                    text: entry.summary + (names.isEmpty ? "" : ": \(names.joined(separator: ", "))")
                )
        }
        let margin = (lines.map(\.label.count).max() ?? 0) + 2
        return lines.flatMap { line in
            line.text.wrapped(
                columns: 80, after: line.label + String(repeating: " ", count: margin - line.label.count))
        }
        .joined(separator: "\n")
    }
}

extension CommandSyntax {
    static let initialization = CommandSyntax(
        "init", "write a settings file and its secrets to begin with",
        values: [
            "issuer": .text, "bucket": .text, "region": .text, "endpoint": .text, "role-arn": .text, "redis": .text,
        ],
        flags: Set(FirstSettings.Store.allCases.map(\.rawValue)), operands: [.folder])
    static let settings = CommandSyntax(
        "settings", "the keys of the settings file: type, default, meaning", flags: ["man"],
        operands: [.choice(SettingsManual.keys)])
    static let serve = CommandSyntax(
        "serve", "serve FastCGI requests from nginx",
        values: ["workers": .text, "listen": .text, "lifeline": .text, "heartbeat": .text, "resume": .text],
        hidden: ["lifeline", "heartbeat", "resume"])
    static let status = CommandSyntax(
        "status", "the workers of a running supervisor, and whether it runs the program that is installed",
        values: ["listen": .text], operands: [])
    static let check = CommandSyntax(
        "check", "say what is wrong with a settings file, all of it at once", flags: ["strict"])
    static let doctor = CommandSyntax(
        "doctor", "check a deployment: what was found, why it matters, what to do",
        values: [
            "settings": .file, "url": .text, "ca": .file, "only": checks, "skip": checks, "listen": .text,
            "workers": .text, "timeout-seconds": .text,
        ],
        flags: ["json", "strict", "read-only"])
    private static let checks = Value.choice(CheckName.allCases.map(\.rawValue))
    static let auditVerify = CommandSyntax(
        "audit verify", "find what is missing from the audit, or was changed in it", values: ["stream": .text],
        flags: ["continued"], repeats: true)

    static let lifecycleShow = CommandSyntax(
        "lifecycle show", "the bucket's rules, and what becomes of an object", flags: ["json"])
    static let lifecycleApply = CommandSyntax(
        "lifecycle apply", "put the rules that the settings require", values: ["requests-per-second": .text],
        flags: ["dry-run", "yes", "replace", "delete-existing", "expire-other-objects", "stop-expiring"])
    static let lifecycleVerify = CommandSyntax(
        "lifecycle verify", "say what is wrong with the bucket's rules", flags: ["json"])
    static let lifecyclePlanPrefixes = CommandSyntax(
        "lifecycle plan-prefixes", "lifecycle.prefixes for an existing bucket",
        values: ["keep": .text, "requests-per-second": .text], flags: ["offline"])
    static let lifecycleValidate = CommandSyntax(
        "lifecycle validate", "show on another bucket that a renewal restarts an object's life",
        values: [
            "bucket": .text, "days": .text, "pairs": .text, "grace": .text, "day-length": .text, "state": .file,
            "report": .file,
        ],
        flags: ["once", "keep"])
    static let lifecycleCanary = CommandSyntax(
        "lifecycle canary", "show the same every day in the bucket itself",
        values: ["name": .text, "grace": .text, "day-length": .text, "textfile": .file])

    static let policyShow = CommandSyntax(
        "policy show", "the policy of one user, its size, and what it says in plain words",
        values: ["user": .text, "tier": .text, "scope": .text], flags: ["json"])
    static let policyTest = CommandSyntax(
        "policy test", "test the scopes with own and other users' objects", values: ["user": .text, "scope": .text])
    static let renew = CommandSyntax(
        "renew", "renew objects of a list, or those older than an age",
        values: ["from-list": .file, "older-than": .text, "prefix": .text, "keys-per-second": .text, "state": .file])
    static let tokenMint = CommandSyntax(
        "token mint", "make a token as an issuer would, to try things out",
        values: ["user": .text, "device": .text, "tier": .text, "lifetime": .text, "issuer": .text])
    static let usageScan = CommandSyntax(
        "usage scan", "count what users have stored, for their storage limits",
        values: ["user": .text, "requests-per-second": .text, "state": .file])

    static let userSet = CommandSyntax(
        "user set", "set tier, subscription and storage",
        values: ["tier": .text, "subscription-end": .text, "storage-limit": .text, "storage-used": .text],
        flags: ["accept-undated-tokens"], operands: [.text, .file])
    static let userGet = CommandSyntax("user get", "show the record", flags: ["json"], operands: [.text, .file])
    static let userDisable = CommandSyntax(
        "user disable", "refuse everything from now on", values: ["reason": .text], operands: [.text, .file])
    static let userEnable = CommandSyntax(
        "user enable", "take a disable back", operands: [.text, .file])
    static let userDelete = CommandSyntax("user delete", "delete the record", operands: [.text, .file])
    static let userList = CommandSyntax(
        "user list", "users with a record", values: ["prefix": .text, "limit": .text, "cursor": .text],
        flags: ["json"])
    static let userRevoke = CommandSyntax(
        "user revoke", "disable, and deny what was issued before", flags: ["apply", "keep-enabled"],
        operands: [.text, .file])
    static let completions = CommandSyntax(
        "completions", "completions for bash, zsh or fish", operands: [.choice(CompletionsCommand.words)])
}
