import Foundation

/// `cloakroom-sample`, mostly signed in.
struct Sample {
    /// The folder of its records.
    let state: String
    /// The records of renewals.
    var renewals: String { "\(state)/renewals.sqlite" }

    /// Before it has signed in.
    init(signedOut stack: Stack, device: String) throws { state = "\(stack.folder)/\(device)" }

    /// - Parameter device: another one has records of its own.
    init(_ stack: Stack, user: String, device: String = "sample") throws {
        state = "\(stack.folder)/\(device)"
        guard let nginx = stack.nginx else { throw MissingProgramError(description: "this stack has no nginx") }
        let token = "\(stack.folder)/token-\(device)"
        try Tokens.token(user: user, device: user).write(toFile: token, atomically: true, encoding: .utf8)
        let signedIn = try run(
            "sign-in", "--endpoint", "http://127.0.0.1:\(nginx.port)", "--s3-endpoint", try EndToEnd.s3().url,
            "--user", user, "--token-file", token)
        guard signedIn.status == 0 else { throw MissingProgramError(description: "sign-in: \(signedIn.text)") }
    }

    func start(_ words: String...) throws -> RunningProgram { try start(words) }

    func run(_ words: String...) throws -> (status: Int32?, text: String) { try run(words) }

    func run(_ words: [String]) throws -> (status: Int32?, text: String) {
        let program = try start(words)
        defer { program.stop(SIGKILL) }
        return (try program.waitForEnd(within: .seconds(90)), program.text)
    }

    private func start(_ words: [String]) throws -> RunningProgram {
        try RunningProgram(
            try Programs.sample, words + ["--state", state], output: "\(try RunFolder.make("sample"))/output")
    }
}
