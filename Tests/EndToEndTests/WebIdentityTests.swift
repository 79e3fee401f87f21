import CloakroomTestSupport
import Foundation
import Testing

extension EndToEnd {
    /// STS' own wire through nginx, with the clients that speak it, on SeaweedFS.
    @Suite struct WebIdentity {
        /// What stands before a role's name, or a scope's.
        private static let role = String(SeaweedFS.role.prefix { $0 != "/" })

        private static func options(_ more: @escaping (inout TestSettings) -> Void = { _ in }) -> Stack.Options {
            var options = Stack.Options(nginx: true, s3: true)
            options.settings = {
                $0["vending.lifetimeSeconds"] = 900
                more(&$0)
            }
            return options
        }

        /// How often the worker handed this user credentials.
        private static func vended(_ stack: Stack, to user: String) -> Int {
            RunFolder.text(of: stack.auditFile).split(separator: "\n").count { $0.contains(user) }
        }

        /// - Parameter url: of STS' wire; `nil` for the stack's nginx.
        private static func run(
            _ stack: Stack, _ program: String, _ arguments: [String], token: String, url: String? = nil,
            variables more: [String: String] = [:]
        ) throws -> (status: Int32?, text: String) {
            let folder = try RunFolder.make("client")
            try token.write(toFile: "\(folder)/token", atomically: false, encoding: .utf8)
            let port = try #require(stack.nginx).port
            let variables = [
                "HOME": folder, "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": SeaweedFS.region,
                "PYTHONDONTWRITEBYTECODE": "1", "AWS_ENDPOINT_URL_STS": url ?? "http://127.0.0.1:\(port)/sts",
                "AWS_WEB_IDENTITY_TOKEN_FILE": "\(folder)/token", "AWS_ROLE_ARN": SeaweedFS.role,
            ]
            let client = try RunningProgram(
                program, arguments, output: "\(folder)/output", environment: variables.merging(more) { $1 })
            defer { client.stop(SIGKILL) }
            return (try client.waitForEnd(within: .seconds(60)), client.text)
        }

        @Test(arguments: [
            ("boto3", "put get list refresh refused", 2), ("s3fs", "put get list refresh refused", 2),
            ("minio", "put get list refresh refused", 2), ("polars", "put get list refused", 1),
        ])
        func `a client puts, gets, lists, refreshes and is refused elsewhere`(
            client: String, told: String, vended: Int
        ) throws {
            try Stack.run("sts-\(client)", Self.options()) { stack in
                let user = "u_\(client)"
                let (status, text) = try Self.run(
                    stack, "\(try Programs.sdks)/python",
                    [
                        "\(Programs.checkout)/Tests/EndToEndTests/Clients/web_identity.py", client,
                        try EndToEnd.s3().url, SeaweedFS.bucket, "photos/\(user)/", "photos/u_other/",
                    ], token: Tokens.token(user: user, device: client))
                #expect(text.split(separator: "\n").joined(separator: " ") == told)
                #expect(status == 0)
                #expect(Self.vended(stack, to: user) >= vended)
                #expect(!stack.log.contains("eyJ"))
            }
        }

        @Test(.enabled(if: Programs.goClient != nil))
        func `the SDK for Go does so by web identity`() throws {
            try Stack.run("sts-go", Self.options()) { stack in
                let (status, text) = try Self.run(
                    stack, try #require(Programs.goClient),
                    ["web-identity", try EndToEnd.s3().url, SeaweedFS.bucket, "photos/u_go/", "photos/u_other/"],
                    token: Tokens.token(user: "u_go", device: "go"))
                #expect(text == "put\nget\nlist\nrefresh\nrefused\n")
                #expect(status == 0 && Self.vended(stack, to: "u_go") == 2)
            }
        }

        /// object_store, which delta-rs and others use too, asks over https alone.
        @Test func `obstore gets its credentials over TLS`() throws {
            // It asks for 3600 s, whatever the worker has.
            try Stack.run("sts-obstore", Self.options { $0["vending.lifetimeSeconds"] = 3600 }) { stack in
                let keys = try TemporaryFolder()
                let certificate = try TestCertificate(for: "DNS:localhost,IP:127.0.0.1", in: keys, isAuthority: false)
                let tls = try TLSFront(before: try #require(stack.nginx).port, certificate, folder: stack.folder)
                defer { tls.stop() }
                let (status, text) = try Self.run(
                    stack, "\(try Programs.sdks)/python",
                    [
                        "\(Programs.checkout)/Tests/EndToEndTests/Clients/web_identity.py", "obstore",
                        try EndToEnd.s3().url, SeaweedFS.bucket, "photos/u_obstore/", "photos/u_other/",
                    ], token: Tokens.token(user: "u_obstore", device: "obstore"),
                    url: "https://localhost:\(tls.port)/sts", variables: ["SSL_CERT_FILE": certificate.certificate])
                #expect(text.split(separator: "\n").joined(separator: " ") == "put get list refresh refused")
                #expect(status == 0)
                #expect(Self.vended(stack, to: "u_obstore") == 2)
            }
        }

        @Test func `the aws CLI copies by web identity into its own prefix and nowhere else`() throws {
            try Stack.run("sts-cli", Self.options()) { stack in
                let file = "\(stack.folder)/photo"
                try "from the CLI".write(toFile: file, atomically: false, encoding: .utf8)
                let url = try EndToEnd.s3().url
                func aws(_ arguments: [String], role: String = SeaweedFS.role) throws -> (status: Int32?, text: String)
                {
                    try Self.run(
                        stack, "\(try Programs.clients)/aws",
                        arguments + ["--endpoint-url", url], token: Tokens.token(user: "u_cli", device: "cli"),
                        variables: ["AWS_ROLE_ARN": role])
                }
                let own = "s3://\(SeaweedFS.bucket)/photos/u_cli/a.jpg"
                let written = try aws(["s3", "cp", file, own, "--no-progress"])
                #expect(written.status == 0, "\(written.text)")
                let read = try aws(["s3", "cp", own, "-"])
                #expect(read.status == 0 && read.text == "from the CLI", "\(read.text)")
                let listed = try aws(["s3", "ls", "s3://\(SeaweedFS.bucket)/photos/u_cli/"])
                #expect(listed.status == 0 && listed.text.contains("a.jpg"), "\(listed.text)")
                let foreign = try aws(["s3", "cp", file, "s3://\(SeaweedFS.bucket)/photos/u_cl/a.jpg", "--no-progress"])
                #expect(foreign.status == 1 && foreign.text.contains("AccessDenied"), "\(foreign.text)")
                // A scope by the role's name; and one that there is not.
                let readOnly = try aws(["s3", "cp", file, own, "--no-progress"], role: "\(Self.role)/read")
                #expect(readOnly.status == 1 && readOnly.text.contains("AccessDenied"), "\(readOnly.text)")
                let unknown = try aws(
                    ["s3", "ls", "s3://\(SeaweedFS.bucket)/photos/u_cli/"], role: "\(Self.role)/nothing")
                #expect(unknown.status != 0 && unknown.text.contains("Scope not allowed"), "\(unknown.text)")
            }
        }

        @Test func `boto3 reads its file again when its token is over`() throws {
            try Stack.run("sts-expired", Self.options()) { stack in
                let code = """
                    import boto3, sys
                    from botocore.exceptions import ClientError
                    sts = boto3.client("sts", region_name="us-east-1")
                    for token in sys.argv[1:]:
                        try:
                            sts.assume_role_with_web_identity(RoleArn="\(SeaweedFS.role)", RoleSessionName="app", WebIdentityToken=token)
                            print("vended")
                        except ClientError as error:
                            print(error.response["Error"]["Code"])
                    """
                let expired = Tokens.token(user: "u_late", device: "d", lifetime: .seconds(-3600))
                let (status, text) = try Self.run(
                    stack, "\(try Programs.clients)/python",
                    ["-c", code, expired, "a.b.c", Tokens.token(user: "u_late", device: "d")], token: "")
                #expect(text == "ExpiredTokenException\nInvalidIdentityToken\nvended\n")
                #expect(status == 0)
            }
        }

        @Test func `serves STS at the root of a host of its own, and at both paths`() throws {
            try Stack.run("sts-host", Self.options()) { stack in
                let nginx = try #require(stack.nginx)
                let token = Tokens.token(user: "u_host", device: "d")
                let form = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&WebIdentityToken=\(token)"
                for (target, host) in [("/sts", "localhost"), ("/sts/", "localhost"), ("/", Nginx.stsHost)] {
                    let reply = try nginx.ask(.form(target, form, host: host))
                    #expect(reply.status == 200 && reply.text.contains("<AccessKeyId>"), "\(target): \(reply.text)")
                    let query = try nginx.ask(.form("\(target)?\(form)", "", host: host))
                    #expect(query.status == 200, "\(target): \(query.text)")
                }
                #expect(try nginx.ask(.form("/", form, host: "localhost")).status == 404)
            }
        }

        /// What nginx says itself, in STS' words; and neither log has the token of a query.
        @Test func `no log has a token, whatever goes wrong`() throws {
            var options = Self.options { $0["limits.vend.requests"] = 1 }
            options.status = nil
            try Stack.run("sts-logs", options) { stack in
                let nginx = try #require(stack.nginx)
                let token = Tokens.token(user: "u_logs", device: "d")
                func ask(_ more: String, form: String = "") throws -> TestResponse {
                    try nginx.ask(
                        .form(
                            "/sts?Action=AssumeRoleWithWebIdentity&WebIdentityToken=\(token)\(more)", form,
                            host: "localhost"))
                }
                #expect(try ask("").status == 200)
                let limited = try ask("&RoleArn=\(Self.role)/read")
                #expect(limited.status == 400 && limited.text.contains("<Code>Throttling</Code>"), "\(limited.text)")
                #expect(limited.fields["retry-after"] != nil)
                #expect(try ask("&x=" + String(repeating: "a", count: 9000)).status == 414)
                let large = try ask("", form: "x=" + String(repeating: "a", count: 70_000))
                #expect(large.status == 413 && large.text.contains("<Code>ValidationError</Code>"), "\(large.text)")
                stack.server?.stop(SIGKILL)
                let unreachable = try ask("")
                #expect(
                    unreachable.status == 503 && unreachable.text.contains("<Code>ServiceUnavailable</Code>"),
                    "\(unreachable.text)")
                #expect(unreachable.text.contains("<Type>Receiver</Type>") && unreachable.fields["retry-after"] == "1")
                let texts = [
                    nginx.accessLog, nginx.errorLog, nginx.program.text, stack.log, RunFolder.text(of: stack.auditFile),
                ]
                for text in texts { #expect(!text.contains(token.prefix(20))) }
                #expect(nginx.accessLog.contains(#""path":"/sts""#))
            }
        }
    }
}

/// An nginx that ends TLS before another.
private struct TLSFront {
    let port: Int
    private let program: RunningProgram

    init(before inner: Int, _ certificate: TestCertificate, folder: String) throws {
        port = try Ports.free()
        let home = "\(folder)/tls"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        try """
        \(getuid() == 0 ? "user root;" : "")
        daemon off; pid \(home)/nginx.pid; error_log \(home)/error.log; events {}
        http {
            access_log off;
            client_body_temp_path \(home)/body; proxy_temp_path \(home)/proxy; fastcgi_temp_path \(home)/fastcgi;
            scgi_temp_path \(home)/scgi; uwsgi_temp_path \(home)/uwsgi;
            server {
                listen 127.0.0.1:\(port) ssl; listen [::1]:\(port) ssl;
                ssl_certificate \(certificate.certificate); ssl_certificate_key \(certificate.key);
                location / { proxy_pass http://127.0.0.1:\(inner); }
            }
        }
        """.write(toFile: "\(home)/nginx.conf", atomically: false, encoding: .utf8)
        program = try RunningProgram(
            try Programs.nginx, ["-e", "\(home)/error.log", "-p", home, "-c", "\(home)/nginx.conf"],
            output: "\(home)/output", atDeath: "TERM")
        let port = port
        try wait(for: "nginx before nginx: \(program.text)", within: .seconds(10)) { (try? Socket(port: port)) != nil }
    }

    func stop() { program.stop(SIGTERM) }
}
