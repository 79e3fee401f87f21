import CloakroomAWS
import CloakroomJOSE
import CloakroomRedis
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What a settings file comes to, with an environment and files of the test's own.
func settings(
    _ text: String, environment: [String: String] = [:], files: [String: String] = [:]
) throws(SettingsErrors) -> Settings {
    let files = files.merging(["/etc/cloakroom/settings.json5": text]) { $1 }
    let environment = environment.merging(["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]) { own, _ in own }
    return try Settings.load(file: "/etc/cloakroom/settings.json5", environment: environment) { path in
        files[path].map { Array($0.utf8) }
    }
}

/// The faults of a settings file, each in a line, as ``settings(_:environment:files:)`` reads it.
func settingsFaults(_ text: String, environment: [String: String] = [:], files: [String: String] = [:]) -> [String] {
    do throws(SettingsErrors) {
        _ = try settings(text, environment: environment, files: files)
        return []
    } catch {
        return error.faults.map(\.description)
    }
}

/// The shortest settings without a fault, with more put in.
func smallest(_ more: String = "", issuer: String = "", vending: String = "") -> String {
    """
    {
      region: "eu-central-1", bucket: "photos",
      tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {env: "SIGNING"}, \(issuer)}]},
      vending: {roleARN: "arn:aws:iam::000000000000:role/session", \(vending)},
      \(more)
    }
    """
}

struct SettingsTests {
    @Test(arguments: ["arn:aws:iam:::role/x", "arn:aws:iam::123456789012:role/x"])
    func `takes a role with an account, and one of Ceph without`(role: String) throws {
        let text = smallest(vending: #"store: "ceph""#).replacing("arn:aws:iam::000000000000:role/session", with: role)
        let settings = try settings(text)
        #expect(settings.vending.roleARN == role && settings.vending.store == .ceph)
        #expect(settingsFaults(smallest(vending: #"store: "minio""#)).map { $0.prefix(13) } == ["vending.store"])
    }

    @Test func `takes nodes of a cluster in place of an address`() throws {
        let settings = try settings(smallest("redis: {cluster: ['c1.example:6379', '[fd00::2]:6379']}"))
        #expect(settings.redis.servers.description == "the cluster of c1.example:6379, [fd00::2]:6379")
        #expect(settings.redis.servers.key == "redis.cluster" && settings.redis.servers.addresses.count == 2)
    }

    @Test func `takes sentinels with the master's name in place of an address`() throws {
        let redis = try settings(
            smallest(
                "redis: {sentinels: ['s1.example:26379', '[fd00::2]:26379'], master: 'main', sentinelUsername: 'watcher',"
                    + " sentinelPassword: {env: 'WATCHER'}, password: {env: 'REDIS'}}"),
            environment: ["REDIS": "pass", "WATCHER": "word"]
        ).redis
        let addresses = [
            RedisAddress.internet(host: "s1.example", port: 26379), .internet(host: "fd00::2", port: 26379),
        ]
        #expect(redis.servers == .sentinels(addresses, master: "main"))
        #expect(redis.sentinelUsername == "watcher" && redis.sentinelPassword?.reveal() == "word")
        #expect(redis.username == nil && redis.password?.reveal() == "pass")
        #expect(redis.servers.description == "main, of the sentinels s1.example:26379, [fd00::2]:26379")
    }

    @Test func `takes the defaults for what is left out`() throws {
        let settings = try settings(smallest())
        #expect(settings.region == "eu-central-1" && settings.bucket == "photos")
        #expect(settings.aws.keys == nil && settings.aws.provider == nil && settings.aws.profile == nil)
        #expect(settings.aws.sts.url == "https://sts.eu-central-1.amazonaws.com")
        #expect(settings.aws.s3.url == "https://photos.s3.eu-central-1.amazonaws.com")
        #expect(settings.aws.timeout == .seconds(5) && settings.aws.maximumAttempts == 3)
        #expect(settings.tokens.header == "X-Convos-AuthToken" && settings.tokens.leeway == .seconds(30))
        #expect(settings.tokens.issuers.map(\.audiences) == [["cloakroom"]])
        #expect(settings.tokens.issuers.map(\.claims) == [ClaimNames()])
        #expect(settings.vending.store == .aws)
        #expect(settings.vending.lifetime == .seconds(3600) && settings.vending.defaultTier == "free")
        #expect(settings.renewal.mode == .auto && settings.renewal.retention == .seconds(30 * 86_400))
        #expect(settings.renewal.storageClass == "STANDARD" && settings.renewal.acl == nil)
        #expect(settings.renewal.encryption == nil)
        #expect(settings.limits.renew.quota == 10 && settings.limits.renew.whenRedisIsAway == .open)
        #expect(settings.limits.vend.quota == 60 && settings.limits.vend.whenRedisIsAway == .closed)
        #expect(settings.limits.upload.window == .seconds(3600))
        #expect(settings.limits.renewKeys.quota == 1000 && settings.limits.renewKeys.whenRedisIsAway == .open)
        #expect(settings.limits.uploadBytes.quota == 10 << 30)
        #expect(
            settings.redis.servers == .single(.internet(host: "127.0.0.1", port: 6379))
                && settings.redis.timeout == .milliseconds(40)
        )
        #expect(settings.log.level == .info && settings.audit.destination == .standardError)
        #expect(settings.server.drain == .seconds(20) && settings.server.maximumBodyBytes == 65_536)
    }

    @Test func `takes null for assets that never expire, and 30 days for no word of it`() throws {
        #expect(try settings(smallest("renewal: {retentionDays: null}")).renewal.retentionDays == nil)
        #expect(try settings(smallest("renewal: {retentionDays: 7}")).renewal.retentionDays == 7)
        #expect(try settings(smallest("renewal: {}")).renewal.retentionDays == 30)
        #expect(throws: (any Error).self) { try settings(smallest("renewal: {retentionDays: 0}")) }
        #expect(throws: (any Error).self) { try settings(smallest("renewal: {minimumAgeSeconds: null}")) }
    }

    @Test func `reads what renewed objects are to be`() throws {
        let settings = try settings(
            smallest(
                """
                renewal: {storageClass: "preserve", encryption: "aws:kms", kmsKeyID: "alias/photos", bucketKey: true,
                    acl: "bucket-owner-full-control"},
                """))
        #expect(settings.renewal.storageClass == "preserve" && settings.renewal.acl == "bucket-owner-full-control")
        #expect(
            settings.renewal.encryption
                == RenewalSettings.Encryption(algorithm: "aws:kms", keyID: "alias/photos", usesBucketKey: true))
    }

    @Test(
        arguments: [
            ("", [""]),
            (#"uploads: {keyPrefix: "assets/"}"#, ["", "assets/"]),
            (#"uploads: {keyPrefix: "assets/"}, renewal: {keyPrefix: "assets/"}"#, ["assets/"]),
            (
                #"uploads: {keyPrefix: "b/"}, renewal: {keyPrefix: "a/", formerPrefixes: ["c/", "", "b/", "c/"]}"#,
                ["a/", "b/", "c/", ""]
            ),
            (
                #"uploads: {keyPrefix: "b/"}, renewal: {keyPrefix: "photos/", formerPrefixes: [""], requireOwnPrefix: true}"#,
                ["photos/"]
            ),
        ] as [(String, [String])])
    func `looks for assets under each prefix of the settings, each once`(more: String, places: [String]) throws {
        #expect(try settings(smallest(more)).renewal.searchPrefixes == places)
    }

    @Test(
        arguments: [
            ("", nil), (#"assetBaseURL: "https://cdn.example", keyPrefix: "assets/""#, nil),
            (
                #"assetBaseURL: "https://cdn.example/x/assets", keyPrefix: "assets/""#,
                #"its path "/x/assets" repeats uploads.keyPrefix: clients get https://cdn.example/x/assets/assets/NAME.bin"#
            ),
            (
                #"assetBaseURL: "https://cdn.example/xassets", keyPrefix: "assets/""#,
                #"its path "/xassets" is no part of any key (uploads.keyPrefix is "assets/"):"#
                    + " clients get https://cdn.example/xassets/assets/NAME.bin"
            ),
            (
                #"assetBaseURL: "https://cdn.example/assets""#,
                #"its path "/assets" is no part of any key (uploads.keyPrefix is ""):"#
                    + " clients get https://cdn.example/assets/NAME.bin"
            ),
        ] as [(String, String?)])
    func `warns of a base URL whose path repeats or misses the prefix`(uploads: String, warning: String?) throws {
        let review = SettingsReview(try settings(smallest("uploads: {\(uploads)}")))
        let advice = "nothing, if the CDN takes the path off; else leave it out"
        #expect(
            review.warnings.filter { $0.text.hasPrefix("uploads.assetBaseURL") }
                == (warning.map { [.init(text: "uploads.assetBaseURL: \($0)", advice: advice)] } ?? []))
    }

    @Test(arguments: ["allowAnyOwner: true", "requireOwnPrefix: true"])
    func `takes any key where the settings say whose`(owner: String) throws {
        #expect(try settings(smallest("renewal: {keys: 'any', \(owner)}")).renewal.keys == .any)
    }

    @Test func `reads secrets from the environment and from files, without their last line feed`() throws {
        let text = smallest(
            """
            aws: {accessKeyID: "AKID", secretAccessKey: {file: "keys/secret"}, sessionToken: {file: "/run/token"}},
            redis: {password: {env: "REDIS"}, address: "unix:/run/redis.sock"},
            """)
        let settings = try settings(
            text, environment: ["REDIS": "pass"],
            files: ["/etc/cloakroom/keys/secret": "shh\n", "/run/token": "tok\r\n"])
        #expect(settings.aws.accessKeyID == "AKID")
        #expect(settings.aws.secretAccessKey?.reveal() == "shh")
        #expect(settings.aws.sessionToken?.reveal() == "tok")
        #expect(settings.redis.password?.reveal() == "pass")
        #expect(settings.redis.servers == .single(.unix(path: "/run/redis.sock")))
    }

    @Test func `reads a relative file from systemd's credentials first, with underscores for slashes`() throws {
        let text = smallest(
            """
            redis: {password: {file: 'secrets/redis'}},
            aws: {accessKeyID: "AKID", secretAccessKey: {file: '/run/key'}},
            """)
        let files = [
            "/etc/cloakroom/secrets/redis": "beside", "/run/cred/secrets_redis": "provided", "/run/key": "shh",
        ]
        func password(_ environment: [String: String]) throws -> String? {
            try settings(text, environment: environment, files: files).redis.password?.reveal()
        }
        #expect(try password([:]) == "beside")
        #expect(try password(["CREDENTIALS_DIRECTORY": "/run/cred"]) == "provided")
        #expect(try password(["CREDENTIALS_DIRECTORY": "/run/other"]) == "beside")
    }

    @Test func `takes AWS's own variables when the file names none, or them`() throws {
        let keys = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "shh"]
        let named = smallest("aws: {accessKeyID: {env: 'AWS_ACCESS_KEY_ID'}, sessionToken: {env: 'AWS_SESSION_TOKEN'}}")
        for text in [smallest(), named] {
            let settings = try settings(text, environment: keys)
            #expect(settings.aws.accessKeyID == "AKID" && settings.aws.secretAccessKey?.reveal() == "shh")
            #expect(settings.aws.sessionToken == nil)
        }
        #expect(settingsFaults(named) == [])
    }

    @Test func `prints no secret`() throws {
        let text = smallest("redis: {password: {env: 'REDIS'}}")
        let settings = try settings(
            text, environment: ["REDIS": "hunter2", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "shh!"])
        var dumped = "\(settings)"
        dump(settings, to: &dumped)
        for secret in ["hunter2", "shh!", "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"] { #expect(!dumped.contains(secret)) }
    }

    @Test func `tells all faults at once, in the order of the table`() {
        let text = """
            {
              regoin: "us-east-1",
              bucket: "Photos_1",
              aws: {secretAccessKey: "plain", timeoutMilliseconds: 50, pathStyle: "yes", stsEndpoint: "http://a/", x: 1},
              tokens: {heder: "x", leewaySeconds: 90, issuers: [
                {issuer: "a", audiences: [], secret: {env: "WEAK"}, algorithms: ["none"], claims: {subjct: "a"}},
                {issuer: "a", audiences: ["b"], secret: {file: "nope"}},
                7,
              ]},
              vending: {roleARN: "arn:aws:s3:::x", lifetimeSeconds: 60.5, prefixes: ["photos/*"]},
              limits: 7,
              log: {level: "loud"},
              redis: {password: "hunter2", address: "localhost", username: {env: "A"}},
            }
            """
        let found = settingsFaults(text, environment: ["WEAK": String(repeating: "secret", count: 6)])
        #expect(
            found == [
                "regoin: is not a key; did you mean region?",
                "aws.x: is not a key; known here: accessKeyID, secretAccessKey, sessionToken, credentials, profile,"
                    + " useFIPS, useDualStack, stsEndpoint, s3Endpoint, iamEndpoint, pathStyle, certificateAuthorities,"
                    + " timeoutMilliseconds, maximumAttempts",
                "tokens.heder: is not a key; did you mean tokens.header?",
                "limits: is no object; give: {renew, vend, upload, session, notification, renewKeys, release, releaseKeys,"
                    + " uploadBytes}",
                "region: is missing; give: Region, such as \"eu-central-1\"."
                    + " The bucket's Region; also the one whose STS is called.",
                "bucket: is \"Photos_1\"; give: bucket name: 3…63 of a-z 0-9 - .",
                "aws.secretAccessKey: is a secret written in the file as plain text;"
                    + " change the secret, keep it elsewhere, and give: {env: \"NAME\"} or {file: \"path\"}",
                "aws.stsEndpoint: is \"http://a/\";"
                    + " give: URL of scheme, host and port, such as \"http://127.0.0.1:18333\"",
                "aws.pathStyle: is a string; give: true or false",
                "aws.timeoutMilliseconds: is 50, out of range; give: integer, 100…60000",
                "tokens.leewaySeconds: is 90, out of range; give: integer, 0…60",
                "tokens.issuers[0].claims.subjct: is not a key; did you mean tokens.issuers[0].claims.subject?",
                "tokens.issuers[0].audiences: is empty; give: array, each: string",
                "tokens.issuers[0].algorithms[0]: is \"none\"; give: one of \"HS256\", \"HS384\", \"HS512\","
                    + " \"RS256\", \"RS384\", \"RS512\", \"PS256\", \"PS384\", \"PS512\", \"ES256\", \"ES384\","
                    + " \"ES512\", \"EdDSA\"",
                "tokens.issuers[0].secret: is, or is made of, a well-known example;"
                    + " make one with: openssl rand -base64 32",
                "tokens.issuers[1].secret: names the file nope, which cannot be read;"
                    + " create it, or let the worker read it",
                "tokens.issuers[2]: is a number; give: an object",
                "vending.roleARN: is \"arn:aws:s3:::x\";"
                    + " give: role's ARN, such as \"arn:aws:iam::123456789012:role/name\"",
                "vending.lifetimeSeconds: is a number; give: integer, 900…43200",
                "vending.prefixes[0]: is \"photos/*\";"
                    + " give: folder name of letters, digits and _-., with / between levels, or empty",
                "redis.address: is \"localhost\"; give: \"host:port\" or \"unix:/path\"",
                "redis.username: is an object; give: string",
                "redis.password: is a secret written in the file as plain text;"
                    + " change the secret, keep it elsewhere, and give: {env: \"NAME\"} or {file: \"path\"}",
                "log.level: is \"loud\"; give: one of \"debug\", \"info\", \"warning\", \"error\"",
            ])
    }

    @Test(arguments: [
        ("{", "line 1, column 2: this is not JSON5; look there, or at the end of the line before"),
        ("{\n  a: 1,\n  a: 2}", "line 3, column 3: this key stands here a second time; keep one of the two"),
        ("[]", "the file holds no object; begin it with { and end it with }"),
        ("", "line 1, column 1: this is not JSON5; look there, or at the end of the line before"),
    ])
    func `says where a file is none`(text: String, fault: String) {
        #expect(settingsFaults(text) == [fault])
    }

    @Test func `says when there is no file`() {
        do throws(SettingsErrors) {
            _ = try Settings.load(file: "/nope", environment: [:]) { _ in nil }
            Issue.record("loaded nothing")
        } catch {
            #expect("\(error)" == "the file /nope cannot be read; name a file that the worker may read")
        }
    }

    static let root = #"""
        {"Version":"2012-10-17","Statement":[{"Sid":"Read","Effect":"Allow","Action":"s3:GetObject",
        "Resource":"arn:${partition}:s3:::${bucket}/${user}/*"}]}
        """#

    @Test(arguments: [
        "prefixes: [''], scopes: {own: {template: 'policy.json'}}, scope: 'own'",
        "prefixes: [''], scopes: {full: {template: 'policy.json'}}",
    ])
    func `takes a template of the operator's own`(vending: String) throws {
        let settings = try settings(smallest(vending: vending), files: ["/etc/cloakroom/policy.json": Self.root])
        let user = try #require(UserID("u_1"))
        #expect(
            settings.vending.scope.policy.text(for: user)
                == #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","#
                + #""Resource":"arn:aws:s3:::photos/u_1/*"}]}"#)
    }
}
