package import CloakroomCrypto
import CloakroomJSON

/// What `cloakroom init` writes: settings for one kind of store, and the secrets that they name.
package struct FirstSettings {
    package enum Store: String, CaseIterable, Sendable {
        case aws, seaweedfs, ceph
    }

    package struct File: Sendable {
        /// Below the folder of the settings.
        package let path: String
        package let secret: Secret
    }

    package var store: Store
    /// An issuer of OpenID Connect, which publishes its keys; `nil` for one whose tokens are signed with a secret.
    package var issuer: String?
    package var bucket = "my-bucket"
    package var region: String
    /// Of S3 and STS; `nil` for AWS's.
    package var endpoint: String?
    package var roleARN: String
    package var redis = "127.0.0.1:6379"
    /// `nil`: the audit goes to standard error, and is kept as long as what reads that keeps it.
    package var auditFile: String?
    /// Whether images of chats have a place of their own, where they can be released.
    package var chats = false

    package init(_ store: Store) {
        self.store = store
        switch store {
        case .aws:
            (region, endpoint) = ("eu-central-1", nil)
            roleARN = "arn:aws:iam::123456789012:role/cloakroom-session"
        case .seaweedfs:
            (region, endpoint) = ("us-east-1", "http://127.0.0.1:8333")
            roleARN = "arn:aws:iam::000000000000:role/cloakroom-session"
        case .ceph:
            (region, endpoint) = ("us-east-1", "http://127.0.0.1:7480")
            roleARN = "arn:aws:iam:::role/cloakroom-session"
        }
    }

    /// 256 random bits each, in hexadecimal; anew at each call.
    package func secrets() -> [File] {
        var names = ["secrets/uploads"]
        if issuer == nil { names.append("secrets/token") }
        if store != .aws { names.append("secrets/s3") }
        if chats { names.append("secrets/release") }
        return names.map { File(path: $0, secret: Secret(randomBytes(32).hexadecimal)) }
    }

    package var text: String {
        var values = [
            "region": Self.quoted(region), "bucket": Self.quoted(bucket), "vending.roleARN": Self.quoted(roleARN),
            "tokens.issuers": issuers, "redis.address": Self.quoted(redis),
            // What renews and expires lies apart from the users' folders, which do not; the worker needs no other place.
            "uploads.keyPrefix": #""assets/""#, "renewal.keyPrefix": #""assets/""#,
            "lifecycle.prefixes": #"["assets/"]"#,
            // The last one is for the catalogs of tiered photo storage.
            "vending.prefixes": #"["photos", "thumbnails", "metadata", "catalogs"]"#,
            "uploads.idKeys": #"[{file: "secrets/uploads"}]"#,
        ]
        if chats {
            values["uploads.chatKeyPrefix"] = #""chats/""#
            values["release.keys"] = #"[{file: "secrets/release"}]"#
        }
        if let auditFile { values["audit.file"] = Self.quoted(auditFile) }
        if let endpoint {
            values["aws.stsEndpoint"] = Self.quoted(endpoint)
            values["aws.s3Endpoint"] = Self.quoted(endpoint)
        }
        if store != .aws {
            values["vending.store"] = Self.quoted(store.rawValue)
            values["aws.accessKeyID"] = #""cloakroom""#
            values["aws.secretAccessKey"] = #"{file: "secrets/s3"}"#
        }
        return SettingsTemplate(values).text(head: [
            "Settings of cloakroom, as `cloakroom init --\(store.rawValue)` wrote them.",
            "What is commented out is at its default. Relative paths begin at this file's folder.",
        ])
    }

    private var issuers: String {
        let name = Self.quoted(issuer ?? "https://auth.example.com")
        let keys = issuer == nil ? #"secret: {file: "secrets/token"}"# : "discovery: true"
        return "[\n  {issuer: \(name), audiences: [\"cloakroom\"], \(keys)},\n]"
    }

    private static func quoted(_ text: String) -> String { JSON.string(text).text }
}
