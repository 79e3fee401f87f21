import Testing

/// Settings that are each good by themselves, but not beside each other.
struct SettingsConflictTests {
    struct Conflict: Sendable {
        let settings: String
        let fault: String
    }

    private static let conflicts: [Conflict] = [
        Conflict(
            settings: smallest("aws: {accessKeyID: 'AKID'}"),
            fault: "aws.secretAccessKey: is absent while the other half is there;"
                + " give both"
        ),
        Conflict(
            settings: smallest(
                "aws: {accessKeyID: 'A', secretAccessKey: {env: 'SIGNING'}, sessionToken: {env: 'SIGNING'}}",
                vending: "lifetimeSeconds: 3601"),
            fault: "vending.lifetimeSeconds: is 3601, but credentials with a session token can vend 3600 at most;"
                + " give 3600 or less, or the keys of an IAM user"
        ),
        Conflict(
            settings: smallest().replacing("eu-central-1", with: "cn-north-1"),
            fault: "vending.roleARN: is in the partition aws, but cn-north-1 is in aws-cn;"
                + " give a role of aws-cn, or a Region of aws"
        ),
        Conflict(
            settings: smallest("aws: {timeoutMilliseconds: 20000}"),
            fault: "aws.timeoutMilliseconds: is 20000, longer than the whole request's 15000;"
                + " give less, or raise server.requestDeadlineMilliseconds"
        ),
        Conflict(
            settings: smallest(vending: "kmsKeyARNs: ['arn:aws:kms:eu-west-1:123456789012:key/1']"),
            fault: "vending.kmsKeyARNs: names arn:aws:kms:eu-west-1:123456789012:key/1, but the bucket is in"
                + " eu-central-1; give keys of eu-central-1"
        ),
        Conflict(
            settings: smallest("uploads: {keyPrefix: 'photos/u_1/x/'}, renewal: {keyPrefix: 'assets/'}"),
            fault: "uploads.keyPrefix: is \"photos/u_1/x/\", which lies in the folder photos/u_1/ that vending.prefixes"
                + " gives the user u_1; put it beside the users' folders, such as assets/"
        ),
        Conflict(
            settings: smallest("renewal: {formerPrefixes: ['old/', 'metadata/all/']}"),
            fault: "renewal.formerPrefixes: is \"metadata/all/\", which lies in the folder metadata/all/ that"
                + " vending.prefixes gives the user all; put it beside the users' folders, such as assets/"
        ),
        Conflict(
            settings: smallest("uploads: {keyPrefix: 'assets/cloakroom-canary/h/'}"),
            fault: "uploads.keyPrefix: has \"assets/cloakroom-canary/h/\", but assets/cloakroom-canary/ is reserved for"
                + " Cloakroom's own objects; give another prefix, such as assets/"
        ),
        Conflict(
            settings: smallest("renewal: {keyPrefix: 'cloakroom-doctor/'}"),
            fault: "renewal.keyPrefix: has \"cloakroom-doctor/\", but cloakroom-doctor/ is reserved for Cloakroom's own"
                + " objects; give another prefix, such as assets/"
        ),
        Conflict(
            settings: smallest("renewal: {formerPrefixes: ['old/', 'photos/cloakroom-doctor-1/']}"),
            fault: "renewal.formerPrefixes: has \"photos/cloakroom-doctor-1/\", but photos/cloakroom-doctor-1/ is"
                + " reserved for Cloakroom's own objects; give another prefix, such as assets/"
        ),
        Conflict(
            settings: smallest(
                "uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/', 'cloakroom-canary/h']}"),
            fault: "lifecycle.prefixes: has \"cloakroom-canary/h\", but cloakroom-canary/ is reserved for Cloakroom's"
                + " own objects; take it out: what Cloakroom keeps for itself expires without it"
        ),
        Conflict(
            settings: smallest(vending: "prefixes: ['photos', 'cloakroom-canary']"),
            fault: "vending.prefixes: has \"cloakroom-canary/\", but cloakroom-canary/ is reserved for Cloakroom's own"
                + " objects; give users' folders another place, such as photos/"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {own: {template: 'doctor.json'}}"),
            fault: "vending.scopes.own.template: has \"cloakroom-doctor/\", but cloakroom-doctor/ is reserved for"
                + " Cloakroom's own objects; give users' folders another place, such as photos/"
        ),
        Conflict(
            settings: smallest("server: {requestDeadlineMilliseconds: 30000}"),
            fault: "server.drainSeconds: is 20, but one request may take 30000 ms;"
                + " give more, or lower server.requestDeadlineMilliseconds"
        ),
        Conflict(
            settings: smallest(
                "redis: {timeoutMilliseconds: 5000}, aws: {timeoutMilliseconds: 100}, server: {requestDeadlineMilliseconds: 400}"
            ),
            fault: "redis.timeoutMilliseconds: is 5000, not shorter than the whole request's 400;"
                + " give less, or raise server.requestDeadlineMilliseconds"
        ),
        Conflict(
            settings: smallest("renewal: {keys: 'any'}"),
            fault: "renewal.keys: is \"any\", so that each user could keep every other's objects alive;"
                + " give renewal.requireOwnPrefix: true, or renewal.allowAnyOwner: true where that is wanted"
        ),
        Conflict(
            settings: smallest("renewal: {requireOwnPrefix: true, keyPrefix: 'assets/'}"),
            fault: "renewal.requireOwnPrefix: is true, but no user has a folder in \"assets/\", where all keys are;"
                + " give renewal.keyPrefix \"\", or one of vending.prefixes"
        ),
        Conflict(
            settings: smallest(
                "renewal: {requireOwnPrefix: true}",
                vending: "prefixes: ['photos', 'photos/raw'], scopes: {full: {template: 'root.json'},"
                    + " read: {template: 'root.json'}, upload: {template: 'root.json'}}"),
            fault: "vending.prefixes: has users' folders in photos/raw/, all of which the user raw could renew as"
                + " photos/raw/; keep users' folders side by side, such as photos/a/ and photos/b/"
        ),
        Conflict(
            settings: smallest("limits: {uploadBytes: {bytes: 16777215}}"),
            fault: "limits.uploadBytes.bytes: is 16777215, but an upload without a length counts for 16777216:"
                + " none would be let in; give more, or lower uploads.assumedBytes, or uploads.requireContentLength: true"
        ),
        Conflict(
            settings: smallest("tiers: {free: {limits: {uploadBytes: 9}}}, uploads: {maximumBytes: 10}"),
            fault: "tiers.free.limits.uploadBytes: is 9, but an upload without a length counts for 10:"
                + " none would be let in; give more, or lower uploads.assumedBytes, or uploads.requireContentLength: true"
        ),
        Conflict(
            settings: smallest("limits: {uploadBytes: {bytes: 1000000000000000}}"),
            fault: "limits.uploadBytes.bytes: is 1000000000000000, out of range; give: integer, 1…999999999999999"
        ),
        Conflict(
            settings: smallest("renewal: {encryption: 'AES256', kmsKeyID: 'alias/photos'}"),
            fault: "renewal.kmsKeyID: stands beside renewal.encryption \"AES256\", which takes no key;"
                + " set renewal.encryption to \"aws:kms\", or leave it out"
        ),
        Conflict(
            settings: smallest("renewal: {bucketKey: false}"),
            fault: "renewal.bucketKey: stands beside renewal.encryption \"bucket\", which takes no key;"
                + " set renewal.encryption to \"aws:kms\", or leave it out"
        ),
        Conflict(
            settings: smallest("renewal: {minimumAgeSeconds: 86400, retentionDays: 1}"),
            fault: "renewal.minimumAgeSeconds: is 86400, more than half of the retention of 1 days;"
                + " give less, or objects may expire before they count as old enough"
        ),
        Conflict(
            settings: smallest(
                vending:
                    "prefixes: [\(Array(repeating: "'\(String(repeating: "p", count: 90))'", count: 8).joined(separator: ","))]"
            ),
            fault:
                "vending.prefixes: the policy is 3069 characters long for the longest user id; name fewer or shorter prefixes"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {wide: {template: 'broad.json'}}"),
            fault: "vending.scopes.wide.template: the policy reaches beyond the user's own folder with"
                + " arn:aws:s3:::photos/* at Statement[0].Resource; confine it to ${bucket} and a folder ${user}/,"
                + " with nothing but plain names before it"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {full: {template: 'text'}}"),
            fault: "vending.scopes.full.template: the policy is not JSON;"
                + " write an IAM policy as JSON, each name once, without comments"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {album: {}}"),
            fault: "vending.scopes.album.template: is missing; give: path of a file."
                + " An IAM policy with `${user}`, `${bucket}`, `${partition}` left open."
        ),
        Conflict(
            settings: smallest(vending: "scopes: {album: {templat: 'a'}}"),
            fault: "vending.scopes.album.templat: is not a key; did you mean vending.scopes.album.template?"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {Album: {template: 'a'}}"),
            fault: "vending.scopes: has the name \"Album\"; give: word of 1…32 of a-z 0-9 _ -, beginning with a letter"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {album: 'a'}"),
            fault: "vending.scopes.album: is a string; give: an object"
        ),
        Conflict(
            settings: smallest(vending: "scope: 'album'"),
            fault: "vending.scope: is \"album\", which is no scope; give one of: full, read, upload"
        ),
        Conflict(
            settings: smallest(vending: "prefixes: ['photos', 'photos/raw']"),
            fault: "vending.prefixes: has users' folders in photos/raw/, which the user raw would own as photos/raw/;"
                + " keep users' folders side by side, such as photos/a/ and photos/b/"
        ),
        Conflict(
            settings: smallest(vending: "scopes: {own: {template: 'root.json'}}"),
            fault: "vending.prefixes: has users' folders in photos/, which the user photos would own as photos/;"
                + " keep users' folders side by side, such as a/ and b/"
        ),
        Conflict(
            settings: smallest(issuer: "secret2: 1"),
            fault: "tokens.issuers[0].secret2: is not a key; did you mean tokens.issuers[0].secret?"
        ),
        Conflict(
            settings: smallest("timeoutMilliseconds: 1"),
            fault: "timeoutMilliseconds: is not a key; did you mean aws.timeoutMilliseconds?"
        ),
        Conflict(
            settings: smallest("redis: {username: 'cloakroom'}"),
            fault: "redis.username: needs redis.password: without it commands run as Redis' user default;"
                + " give both, or neither"
        ),
        Conflict(
            settings: smallest("redis: {address: 'a:1', sentinels: ['a:2'], master: 'm'}"),
            fault: "redis.address: stands beside redis.sentinels, which say where Redis is; keep one of the two"
        ),
        Conflict(
            settings: smallest("redis: {sentinels: ['a:2']}"),
            fault: "redis.master: is missing beside redis.sentinels;"
                + " give the name in their `sentinel monitor`, such as \"mymaster\""
        ),
        Conflict(
            settings: smallest("redis: {master: 'm'}"),
            fault: "redis.master: stands without redis.sentinels; give the sentinels, or take redis.master out"
        ),
        Conflict(
            settings: smallest("redis: {sentinels: [], master: 'm'}"),
            fault: "redis.sentinels: is empty; give: array, each: \"host:port\""
        ),
        Conflict(
            settings: smallest("redis: {sentinels: ['a:2', 'unix:/run/s'], master: 'm'}"),
            fault: "redis.sentinels[1]: is \"unix:/run/s\"; give: \"host:port\""
        ),
        Conflict(
            settings: smallest("redis: {sentinels: ['a:2', 'b:2', 'a:2'], master: 'm'}"),
            fault: "redis.sentinels: has a:2 twice; give each sentinel once"
        ),
        Conflict(
            settings: smallest(
                "redis: {sentinels: [\((1...17).map { "'a:\($0)'" }.joined(separator: ","))], master: 'm'}"),
            fault: "redis.sentinels: has 17 sentinels; give 16 at most; three are usual"
        ),
        Conflict(
            settings: smallest("redis: {sentinels: ['a:2'], master: 'a b'}"),
            fault: "redis.master: is \"a b\"; give: name of 1…64 letters, digits and .-_"
        ),
        Conflict(
            settings: smallest("redis: {sentinels: ['a:2'], master: 'm', sentinelUsername: 'u'}"),
            fault: "redis.sentinelUsername: needs redis.sentinelPassword:"
                + " without it commands run as the sentinels' user default; give both, or neither"
        ),
        Conflict(
            settings: smallest("redis: {sentinelPassword: {env: 'SIGNING'}}"),
            fault: "redis.sentinelPassword: stands without redis.sentinels; give the sentinels, or take it out"
        ),
        Conflict(
            settings: smallest("redis: {address: 'a:1', password: {env: 'SIGNING'}, certificateAuthorities: 'text'}"),
            fault: "redis.certificateAuthorities: stands without redis.tls: true, and Redis is reached in plain text;"
                + " give redis.tls: true, or take redis.certificateAuthorities out"
        ),
        Conflict(
            settings: smallest(
                "redis: {sentinels: ['a:2'], master: 'm', tls: false, certificateAuthorities: 'text'}"),
            fault: "redis.certificateAuthorities: stands without redis.tls: true, and Redis is reached in plain text;"
                + " give redis.tls: true, or take redis.certificateAuthorities out"
        ),
        Conflict(
            settings: smallest("redis: {address: 'a:1', cluster: ['a:2']}"),
            fault: "redis.address: stands beside redis.cluster, which says where Redis is; keep one of the two"
        ),
        Conflict(
            settings: smallest("redis: {cluster: ['a:2'], sentinels: ['a:3'], master: 'm'}"),
            fault: "redis.sentinels: stand beside redis.cluster, which fails over by itself; keep one of the two"
        ),
        Conflict(
            settings: smallest("redis: {cluster: []}"),
            fault: "redis.cluster: is empty; give: array, each: \"host:port\""
        ),
        Conflict(
            settings: smallest("redis: {cluster: ['a:2', 'a:2']}"),
            fault: "redis.cluster: has a:2 twice; give each node once"
        ),
        Conflict(
            settings: smallest("redis: {cluster: [\((1...17).map { "'a:\($0)'" }.joined(separator: ","))]}"),
            fault: "redis.cluster: has 17 nodes; give 16 at most; three will do, because they name the others"
        ),
        Conflict(
            settings: smallest("redis: {cluster: ['a:2'], database: 3}"),
            fault: "redis.database: is 3, but a cluster has only 0; take redis.database out"
        ),
        Conflict(
            settings: smallest("redis: {keyPrefix: '{app}:'}"),
            fault: "redis.keyPrefix: is \"{app}:\"; give: string without { and }"
        ),
        Conflict(
            settings: smallest("redis: {password: {env: 'NOWHERE'}}"),
            fault: "redis.password: names NOWHERE, which the environment lacks; set it where the worker starts"
        ),
        Conflict(
            settings: smallest("redis: {password: {vault: 'x'}}"),
            fault: "redis.password.vault: is not a key; give: {env: \"NAME\"} or {file: \"path\"}"
        ),
        Conflict(
            settings: smallest("redis: {password: {file: 'empty'}}"),
            fault: "redis.password: names the file empty, which is empty; put the value in it"
        ),
        Conflict(
            settings: smallest("redis: {password: {file: 'lines'}}"),
            fault: "redis.password: has control characters or is not UTF-8; keep one line of text there"
        ),
        Conflict(
            settings: smallest("tokens: {header: 'authorization'}").replacing(
                "tokens: {issuers", with: "tokens_: {issuers"),
            fault: "tokens_: is not a key; did you mean tokens?"
        ),
    ]

    @Test(arguments: conflicts)
    func `finds what does not go together`(conflict: Conflict) {
        let broad = #"""
            {"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject",
            "Resource":"arn:aws:s3:::${bucket}/*"}}
            """#
        let files = [
            "/etc/cloakroom/broad.json": broad, "/etc/cloakroom/root.json": SettingsTests.root,
            "/etc/cloakroom/doctor.json": SettingsTests.root.replacing("${user}", with: "cloakroom-doctor/${user}"),
            "/etc/cloakroom/text": "hello",
            "/etc/cloakroom/empty": "\n", "/etc/cloakroom/lines": "a\nb\n",
        ]
        #expect(settingsFaults(conflict.settings, files: files).first == conflict.fault)
    }
}
