import Foundation

/// Ceph's RADOS Gateway, the second store: started by deploy/ceph once for the whole run, when a test first wants it,
/// because that takes half a minute.
final class Ceph: Sendable {
    /// Seconds of a lifecycle day.
    static let day = 4

    /// What deploy/ceph says of the one that it has started.
    private struct Address: Decodable {
        let endpoint: String
        let bucket: String
        let region: String
        let roleARN: String
        let id: String
        let secret: String
    }

    let url: String
    private let place: Address
    private let program: RunningProgram

    var role: String { place.roleARN }
    var bucket: String { place.bucket }

    init() throws {
        let folder = try RunFolder.make("ceph")
        // deploy/ceph stops what it has started when it gets this signal; its processes end with it in any case.
        let program = try RunningProgram(
            "\(Programs.checkout)/deploy/ceph", ["\(Self.day)"], output: "\(folder)/output",
            environment: ["CLOAKROOM_STATE": folder], atDeath: "TERM")
        do {
            try wait(for: "Ceph, its output is in \(program.output)", within: .seconds(120)) {
                guard program.isRunning else { throw MissingProgramError(description: "Ceph ended: \(program.text)") }
                return FileManager.default.fileExists(atPath: "\(folder)/ceph.json")
            }
            place = try JSONDecoder().decode(
                Address.self, from: Data(contentsOf: URL(fileURLWithPath: "\(folder)/ceph.json")))
        } catch {
            program.stop(within: .seconds(20))
            throw error
        }
        self.program = program
        url = place.endpoint
        Secrets.keep(place.secret)
    }

    func stop() { program.stop(within: .seconds(20)) }

    /// For workers and commands that are to reach it.
    var environment: [String: String] {
        TestSettings.environment.merging(["TEST_SECRET_ACCESS_KEY": place.secret]) { $1 }
    }

    /// What a worker on this store has otherwise.
    func change(_ settings: inout TestSettings) {
        settings["region"] = place.region
        settings["bucket"] = place.bucket
        settings["aws.accessKeyID"] = place.id
        settings["aws.stsEndpoint"] = url
        settings["aws.s3Endpoint"] = url
        settings["aws.timeoutMilliseconds"] = 10_000
        settings["vending.roleARN"] = role
        settings["vending.store"] = "ceph"
        settings["server.drainSeconds"] = 20
        settings["server.requestDeadlineMilliseconds"] = 15_000
    }

    /// A worker on this store, with Redis.
    func options(nginx: Bool = false, _ settings: @escaping (inout TestSettings) -> Void = { _ in }) -> Stack.Options {
        var options = Stack.Options { [self] in
            change(&$0)
            settings(&$0)
        }
        options.nginx = nginx
        options.environment = environment
        return options
    }

    /// - Returns: the path of a settings file for commands on this store.
    func settings(_ folder: String, _ change: (inout TestSettings) -> Void = { _ in }) throws -> String {
        var settings = TestSettings(folder: folder, upstream: url)
        self.change(&settings)
        change(&settings)
        try settings.write(to: "\(folder)/settings.json5")
        return "\(folder)/settings.json5"
    }

    /// The bucket with a rule that expires what begins so, while the test runs.
    func withRule(prefix: String, days: Int, _ body: () throws -> Void) throws {
        try putRule(prefix: prefix, days: days)
        defer { _ = try? ask("DELETE", "?lifecycle=") }
        try body()
    }

    /// The same for a test that awaits.
    func withRule(prefix: String, days: Int, _ body: () async throws -> Void) async throws {
        try putRule(prefix: prefix, days: days)
        defer { _ = try? ask("DELETE", "?lifecycle=") }
        try await body()
    }

    private func putRule(prefix: String, days: Int) throws {
        let rule =
            "<Rule><ID>test</ID><Filter><Prefix>\(prefix)</Prefix></Filter><Status>Enabled</Status>"
            + "<Expiration><Days>\(days)</Days></Expiration></Rule>"
        let put = try ask(
            "PUT", "?lifecycle=", body: "<LifecycleConfiguration>\(rule)</LifecycleConfiguration>")
        guard put.status == 200 else { throw MissingProgramError(description: "PUT ?lifecycle: \(put.told)") }
    }

    /// - Returns: the keys that begin so, a thousand at most.
    func keys(below prefix: String) throws -> Set<String> {
        let list = try ask("GET", "?list-type=2&max-keys=1000&prefix=\(prefix.replacing("/", with: "%2F"))")
        guard list.status == 200 else { throw MissingProgramError(description: "GET ?prefix=\(prefix): \(list.told)") }
        return Set(list.text.matches(of: /<Key>([^<]*)<\/Key>/).map { String($0.1) })
    }

    /// As the worker's own identity, signed by curl.
    ///
    /// - Parameter target: behind the bucket's name, such as `/key` or `?lifecycle=`.
    func ask(_ method: String, _ target: String, body: String? = nil, fields: [String: String] = [:]) throws
        -> TestResponse
    {
        try Curl.signed(
            method, "\(url)/\(place.bucket)\(target)", key: place.id, secret: place.secret, session: nil, body: body,
            fields: fields)
    }
}
