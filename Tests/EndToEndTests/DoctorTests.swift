import Foundation
import Testing

extension EndToEnd {
    /// `cloakroom doctor` before a deployment that is well, and before some that are not.
    @Suite struct DoctorVisits {
        /// What it found, as `check level: found`.
        private static func visit(
            _ stack: Stack, _ options: [String], status: Int32, sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> [String] {
            let command = try Command(
                ["doctor", "--settings", stack.settingsFile, "--json"] + options, within: .seconds(60))
            #expect(command.status == status, "\(command.text)", sourceLocation: sourceLocation)
            let report = try JSONSerialization.jsonObject(with: Data(command.text.utf8)) as? [String: Any]
            let findings = try #require(report?["findings"] as? [[String: String]])
            return findings.map { "\($0["check"] ?? "") \($0["level"] ?? ""): \($0["found"] ?? "")" }
        }

        @Test func `finds nothing to do, and leaves nothing behind`() throws {
            try Stack.run("doctor", Stack.Options(nginx: true, s3: true)) { stack in
                let port = try #require(stack.nginx).port
                // The store is there for all tests of this run; none of its objects lives for thirty days.
                let rule = try Command(["lifecycle", "apply", "--yes", "--expire-other-objects", stack.settingsFile])
                #expect(rule.status == 0, "\(rule.text)")
                let found = try Self.visit(
                    stack, ["--url", "http://127.0.0.1:\(port)", "--listen", "unix:\(stack.socket())"], status: 0)
                for expected in [
                    "keys ok: https://auth.localhost: 1 keys of the settings for HS256",
                    "lifecycle ok: what is not renewed expires after 30 days",
                    "sockets ok: the worker at unix:\(stack.socket()) is ready", "redis ok: scripts run and write",
                    "endpoints ok: our clock is STS's",
                    "bucket ok: a missing key gets 404 NoSuchKey",
                    "role ok: sessions last the 3600 s of the settings",
                    "front ok: the headers of cloakroom/headers.conf are sent",
                    "front ok: GET where POST belongs gets 405",
                    "front ok: a body of 65536 bytes is let in, one byte more gets 413",
                    "front ok: a worker responds behind http://127.0.0.1:\(port)",
                ] { #expect(found.contains(expected), "\(expected)") }
                #expect(found.contains { $0.hasPrefix("touch ok: objects can be renewed by replace, by copy not;") })
                for scope in ["full", "read", "upload"] {
                    #expect(found.contains { $0.hasPrefix("scopes ok: \(scope): ") && !$0.contains("lists alone") })
                }
                for prefix in ["cloakroom-doctor", "photos/cloakroom-doctor", "thumbnails/cloakroom-doctor"] {
                    #expect(try EndToEnd.s3().keys(below: prefix) == [])
                }
                #expect(try stack.redis?.command("KEYS *doctor*") == [])
            }
        }

        /// Six deletions are probes, six more take the probes' objects away: three seconds end among the latter.
        @Test func `takes away what it wrote when a check runs out of time doing so`() throws {
            let (port, store) = (try Ports.free(), try EndToEnd.s3())
            let relay = try Relay(from: port, to: store.port, slow: "DELETE ")
            defer { relay.stop() }
            let options = Stack.Options(s3: true) { $0["aws.s3Endpoint"] = "http://127.0.0.1:\(port)" }
            try Stack.run("doctor-slow", options) { stack in
                let found = try Self.visit(stack, ["--only", "scopes", "--timeout-seconds", "3"], status: 1)
                #expect(found.first == "scopes error: took longer than 3 s", "\(found)")
                for prefix in ["photos/cloakroom-doctor", "thumbnails/cloakroom-doctor", "metadata/cloakroom-doctor"] {
                    #expect(try store.keys(below: prefix) == [])
                }
            }
        }

        @Test func `names a missing rule, and an STS that gives no session, at a store that answers as AWS does`()
            throws
        {
            let upstream = try ScriptedUpstream()
            let options = upstream.options { $0["aws.stsEndpoint"] = upstream.s3.url }
            try Stack.run("doctor-scripted", options) { stack in
                let found = try Self.visit(stack, ["--only", "bucket,lifecycle,touch,role,scopes"], status: 1)
                for expected in [
                    "bucket ok: the bucket photos is there, in us-east-1",
                    "lifecycle error: no rule expires every object: what is not renewed stays for ever",
                    "touch ok: objects can be renewed by copy and by replace; date, type, metadata and tags are as they "
                        + "should be",
                    "scopes error: full: no credentials: AccessDenied (403)",
                ] { #expect(found.contains(expected), "\(expected) in \(found)") }
                #expect(found.contains { $0.hasPrefix("role error: \(SeaweedFS.role) cannot be assumed; STS says") })
            }
        }

        /// Such as a policy with `s3:DeleteObject` on assets and photos, beside that of a worker.
        @Test func `names each place where the worker can delete, also where it may read nothing`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let options = upstream.options { $0["uploads.keyPrefix"] = "assets/" }
            try Stack.run("doctor-deletes", options) { stack in
                upstream.s3.identities {
                    $0[0].prefixes = ["assets/", "photos/"]
                    $0[0].denied = ["s3:GetObject"]
                }
                let found = try Self.visit(stack, ["--only", "worker"], status: 0)
                #expect(
                    found.contains("worker warning: it can delete objects under assets/, under photos/USER/"),
                    "\(found)")
                #expect(!found.contains { $0.contains("it can read") || $0.contains("none of what it needs not") })
            }
        }

        @Test func `names what is wrong with Redis, the bucket and nginx`() throws {
            let options = Stack.Options(s3: true, settings: { $0["bucket"] = "no-such-bucket" })
            try Stack.run("doctor-ill", options) { stack in
                try stack.redis?.command("CONFIG SET maxmemory-policy allkeys-lru")
                let upstream = "\(stack.folder)/upstream.conf"
                try "upstream cloakroom { server unix:\(stack.socket()); }".write(
                    toFile: upstream, atomically: false, encoding: .utf8)
                let found = try Self.visit(
                    stack,
                    [
                        "--url", "http://127.0.0.1:9", "--listen", "unix:\(stack.socket(2))", "--upstream", upstream,
                        "--only", "redis,bucket,front,sockets",
                    ], status: 1)
                for expected in [
                    "redis error: eviction policy is allkeys-lru",
                    "bucket error: S3 responds 403 for the bucket no-such-bucket",
                    "front error: http://127.0.0.1:9: nginx is unreachable",
                    "sockets error: no worker can be reached at unix:\(stack.socket(2)): No such file or directory",
                    "sockets warning: \(upstream) lacks unix:\(stack.socket(2))",
                    "sockets warning: \(upstream) has unix:\(stack.socket()), where no worker is to listen",
                ] { #expect(found.contains(expected), "\(expected) in \(found)") }
            }
        }
    }
}
