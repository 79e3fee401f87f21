import CloakroomCrypto
import Foundation

/// An S3 in memory whose days are seconds, as a program of its own: what outlives a killed command.
final class FastStore {
    static let day = 4

    let port: Int
    private let program: RunningProgram
    private let secret = Secrets.keep(Secrets.random())

    var url: String { "http://127.0.0.1:\(port)" }

    /// - Throws: ``MissingProgramError`` when it was not built beside the worker.
    init(folder: String) throws {
        port = try Ports.free()
        let path = URL(fileURLWithPath: try Programs.worker).deletingLastPathComponent()
            .appendingPathComponent("scripted-s3").path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw MissingProgramError(description: "\(path) is missing; build it: swift build --product scripted-s3")
        }
        program = try RunningProgram(
            path,
            [
                "--listen", "127.0.0.1:\(port)", "--bucket", SeaweedFS.bucket, "--region", SeaweedFS.region,
                "--day-length", "\(Self.day)s",
            ], output: "\(folder)/s3.log",
            environment: ["SCRIPTED_ACCESS_KEY_ID": SeaweedFS.broker, "SCRIPTED_SECRET_ACCESS_KEY": secret])
        try wait(for: "the store; \(program.text)", within: .seconds(10)) {
            program.text.contains("listening on")
        }
    }

    func stop() { program.stop(SIGKILL) }

    /// - Parameter body: is given the store, and a folder.
    static func run(_ name: String, _ body: (FastStore, String) throws -> Void) throws {
        let folder = try RunFolder.make(name)
        let store = try FastStore(folder: folder)
        defer { store.stop() }
        try body(store, folder)
    }

    /// A run of `cloakroom lifecycle` to its end.
    func lifecycle(_ words: [String]) throws -> Command {
        try Command(["lifecycle"] + words, environment: environment)
    }

    /// For commands that are to reach it.
    var environment: [String: String] {
        TestSettings.environment.merging(["TEST_SECRET_ACCESS_KEY": secret]) { $1 }
    }

    func settings(_ folder: String, _ change: (inout TestSettings) -> Void = { _ in }) throws -> String {
        var settings = TestSettings(folder: folder, upstream: url)
        change(&settings)
        try settings.write(to: "\(folder)/settings.json5")
        return "\(folder)/settings.json5"
    }

    /// Signed by curl, with a sum of the body, which S3 wants of configurations.
    func ask(_ method: String, _ target: String, body: String? = nil) throws -> TestResponse {
        let sum = body.map { Data(SHA256.hash($0.utf8)).base64EncodedString() }
        return try Curl.signed(
            method, url + target, key: SeaweedFS.broker, secret: secret, session: nil, body: body,
            fields: sum.map { ["x-amz-checksum-sha256": $0] } ?? [:])
    }
}
