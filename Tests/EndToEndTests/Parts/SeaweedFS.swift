import Foundation

/// The S3 and STS server of the whole run: started once, because that takes three seconds.
final class SeaweedFS: Sendable {
    static let bucket = "photos"
    static let region = "us-east-1"
    static let role = "arn:aws:iam::000000000000:role/cloakroom-app"
    static let broker = "cloakroom-broker"
    static let brokerSecret = Secrets.keep(Secrets.random())
    private static let adminSecret = Secrets.keep(Secrets.random())

    let port: Int
    private let program: RunningProgram
    private let ports: [Int]

    var url: String { "http://127.0.0.1:\(port)" }

    init() throws {
        let weed = try Programs.seaweedFS
        let folder = try RunFolder.make("seaweedfs")
        ports = try (0..<4).map { _ in try Ports.free(offset: 10_000) }
        port = ports[0]
        try FileManager.default.createDirectory(atPath: "\(folder)/data", withIntermediateDirectories: true)
        try Self.identities.write(toFile: "\(folder)/s3.json", atomically: false, encoding: .utf8)
        try Self.roles.write(toFile: "\(folder)/iam.json", atomically: false, encoding: .utf8)
        // Loopback only, no telemetry, small volumes; as deploy/lib/seaweedfs.sh starts it.
        program = try RunningProgram(
            weed,
            [
                "-logdir=\(folder)", "server", "-dir=\(folder)/data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                "-master.telemetry=false", "-master.port=\(ports[1])", "-master.volumeSizeLimitMB=64",
                "-volume.port=\(ports[2])", "-volume.preStopSeconds=0", "-volume.max=64", "-filer=true",
                "-filer.port=\(ports[3])", "-filer.localSocket=\(folder)/filer.sock", "-s3", "-s3.port=\(port)",
                "-s3.localSocket=\(folder)/s3.sock", "-s3.config=\(folder)/s3.json",
                "-s3.iam.config=\(folder)/iam.json", "-s3.port.iceberg=0", "-s3.port.lance=0",
            ], output: "\(folder)/output", environment: ["HOME": folder])
        do {
            try waitUntilReady()
        } catch {
            stop()
            throw error
        }
    }

    /// Killed: a polite stop takes up to 15 s, and its data is thrown away.
    func stop() {
        program.stop(SIGKILL)
        // Its gRPC sockets; no option puts them elsewhere.
        for (name, port) in zip(["s3", "master", "volume", "filer"], ports) {
            unlink("/tmp/seaweedfs-\(name)-grpc-\(port + 10_000).sock")
        }
    }

    private func waitUntilReady() throws {
        // Unsigned requests are refused once it knows its identities.
        try wait(for: "SeaweedFS, its output is in \(program.output)", within: .seconds(40)) {
            guard program.isRunning else { throw MissingProgramError(description: "SeaweedFS ended: \(program.text)") }
            return (try? HTTPClient.ask(port: port, .get("/")))?.status == 403
        }
        var answer = ""
        try wait(for: "the bucket; \(answer)", within: .seconds(20)) {
            let reply = try Curl.signed(
                "PUT", "\(url)/\(Self.bucket)", key: "cloakroom-admin", secret: Self.adminSecret, session: nil)
            answer = reply.told
            return reply.status == 200
        }
    }

    // MARK: Objects, as the worker's own identity

    func put(_ key: String, _ content: String = "bytes") throws {
        let status = try Curl.signed(
            "PUT", "\(url)/\(Self.bucket)/\(key)", key: Self.broker, secret: Self.brokerSecret, session: nil,
            body: content
        ).status
        guard status == 200 else { throw MissingProgramError(description: "PUT \(key): \(status)") }
    }

    func head(_ key: String) throws -> TestResponse {
        try Curl.signed(
            "HEAD", "\(url)/\(Self.bucket)/\(key)", key: Self.broker, secret: Self.brokerSecret, session: nil)
    }

    /// - Returns: an object's bytes as text.
    func content(_ key: String) throws -> String {
        try Curl.signed(
            "GET", "\(url)/\(Self.bucket)/\(key)", key: Self.broker, secret: Self.brokerSecret, session: nil
        ).text
    }

    func delete(_ key: String) throws {
        let status = try Curl.signed(
            "DELETE", "\(url)/\(Self.bucket)/\(key)", key: Self.broker, secret: Self.brokerSecret, session: nil
        ).status
        guard status == 204 else { throw MissingProgramError(description: "DELETE \(key): \(status)") }
    }

    /// - Returns: the header, as S3 gives it; whole seconds.
    func lastModified(_ key: String) throws -> String? { try head(key).fields["last-modified"] }

    /// - Returns: the keys that begin so, a thousand at most.
    func keys(below prefix: String) throws -> [String] {
        let list = try Curl.signed(
            "GET", "\(url)/\(Self.bucket)?list-type=2&prefix=\(prefix.replacing("/", with: "%2F"))", key: Self.broker,
            secret: Self.brokerSecret, session: nil)
        guard list.status == 200 else { throw MissingProgramError(description: "GET ?prefix=\(prefix): \(list.told)") }
        return list.text.matches(of: /<Key>([^<]*)<\/Key>/).map { String($0.1) }
    }

    /// - Parameter target: behind the bucket's name, such as `?lifecycle=`.
    func ask(_ method: String, _ target: String, body: String? = nil) throws -> TestResponse {
        try Curl.signed(
            method, "\(url)/\(Self.bucket)\(target)", key: "cloakroom-admin", secret: Self.adminSecret, session: nil,
            body: body)
    }

    // MARK: Configuration

    /// For forms SeaweedFS asks only an identity's actions; for everything else the policies do.
    private static let identities = """
        {"identities": [
          {"name": "admin", "credentials": [{"accessKey": "cloakroom-admin", "secretKey": "\(adminSecret)"}],
           "actions": ["Admin", "Read", "Write", "List", "Tagging"]},
          {"name": "broker", "credentials": [{"accessKey": "\(broker)", "secretKey": "\(brokerSecret)"}],
           "actions": ["Write:\(bucket)"], "policyNames": ["BrokerPolicy"]}
        ]}
        """

    private static let roles = """
        {"sts": {"tokenDuration": "1h", "maxSessionLength": "12h", "issuer": "cloakroom-tests",
                 "signingKey": "\(Data(Secrets.random().utf8.prefix(32)).base64EncodedString())"},
         "policy": {"defaultEffect": "Deny", "storeType": "memory"},
         "policies": [
          {"name": "AppPolicy", "document": {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::\(bucket)", "arn:aws:s3:::\(bucket)/*"]}]}},
          {"name": "BrokerPolicy", "document": {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": ["sts:AssumeRole"], "Resource": ["\(role)"]},
            {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::\(bucket)", "arn:aws:s3:::\(bucket)/*"]}]}}],
         "roles": [{"roleName": "cloakroom-app", "roleArn": "\(role)", "attachedPolicies": ["AppPolicy"],
          "trustPolicy": {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["sts:AssumeRole"]}]}}]}
        """
}
