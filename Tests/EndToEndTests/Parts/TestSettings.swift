import Foundation

/// The settings of a stack under test, as a file: what every test needs, and what one wants otherwise.
struct TestSettings {
    /// The stack's.
    let folder: String
    private var tree: [String: Any]

    init(folder: String, upstream: String) {
        self.folder = folder
        tree = [
            "region": SeaweedFS.region, "bucket": SeaweedFS.bucket,
            "aws": [
                "accessKeyID": SeaweedFS.broker, "secretAccessKey": ["env": "TEST_SECRET_ACCESS_KEY"],
                "stsEndpoint": upstream, "s3Endpoint": upstream, "timeoutMilliseconds": 2000,
            ] as [String: Any],
            "tokens": [
                "issuers": [
                    [
                        "issuer": Tokens.issuer, "audiences": ["cloakroom"], "algorithms": ["HS256"],
                        "secret": ["env": "TEST_TOKEN_SECRET"],
                    ] as [String: Any]
                ]
            ],
            "vending": ["roleARN": SeaweedFS.role],
            "renewal": ["minimumAgeSeconds": 0],
            // The rule for the whole bucket, as tests of the commands about it have it.
            "lifecycle": ["expiresUserFolders": true],
            // Long enough for a busy machine: only the tests of Redis' faults are about this time.
            "redis": ["address": "unix:\(folder)/redis.sock", "timeoutMilliseconds": 1000] as [String: Any],
            "audit": ["file": "\(folder)/audit.log"],
            "log": ["level": "debug"],
            "server": ["drainSeconds": 5, "requestDeadlineMilliseconds": 5000, "metricsFolder": "\(folder)/metrics"]
                as [String: Any],
        ]
    }

    static let environment = [
        "TEST_SECRET_ACCESS_KEY": SeaweedFS.brokerSecret, "TEST_TOKEN_SECRET": Tokens.secret,
    ]

    /// By path, such as `redis.timeoutMilliseconds`; `nil` takes the key away.
    subscript(path: String) -> Any? {
        get { nil }
        set { Self.set(&tree, path.split(separator: ".").map(String.init)[...], newValue) }
    }

    private static func set(_ object: inout [String: Any], _ path: ArraySlice<String>, _ value: Any?) {
        guard let name = path.first else { return }
        guard path.count > 1 else { return object[name] = value }
        var inner = object[name] as? [String: Any] ?? [:]
        set(&inner, path.dropFirst(), value)
        object[name] = inner
    }

    func write(to file: String) throws {
        let data = try JSONSerialization.data(withJSONObject: tree, options: [.prettyPrinted, .sortedKeys])
        try data.write(to: URL(fileURLWithPath: file))
    }
}
