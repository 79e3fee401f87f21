import Foundation
import Testing

extension EndToEnd {
    /// The clients that apps have, through nginx: boto3, the aws CLI and rclone.
    @Suite struct RealClients {
        private static func run(
            _ stack: Stack, _ program: String, _ arguments: [String], token: String, query: String = ""
        ) throws -> (status: Int32?, text: String) {
            try run(stack, path: "\(try Programs.clients)/\(program)", arguments, token: token) { url, file in
                [
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": url + query,
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file,
                ]
            }
        }

        /// - Parameter credentials: of the URL of the credentials and the file with the token, the variables that name them.
        private static func run(
            _ stack: Stack, path: String, _ arguments: [String], token: String,
            credentials: (_ url: String, _ file: String) throws -> [String: String]
        ) throws -> (status: Int32?, text: String) {
            let port = try #require(stack.nginx).port
            let folder = try RunFolder.make("client")
            let file = "\(folder)/token"
            try token.write(toFile: file, atomically: false, encoding: .utf8)
            let variables = [
                "HOME": folder, "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": SeaweedFS.region,
                "PYTHONDONTWRITEBYTECODE": "1",
            ]
            let client = try RunningProgram(
                path, arguments, output: "\(folder)/output",
                environment: variables.merging(
                    try credentials("http://127.0.0.1:\(port)/v1/credentials", file)
                ) { $1 })
            defer { client.stop(SIGKILL) }
            return (try client.waitForEnd(within: .seconds(60)), client.text)
        }

        /// How often the worker handed this user credentials.
        private static func vended(_ stack: Stack, to user: String) -> Int {
            RunFolder.text(of: stack.auditFile).split(separator: "\n").count { $0.contains(user) }
        }

        @Test func `boto3 reads and writes its own prefix, is refused outside, and refreshes`() throws {
            try Stack.run("boto3", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.token(user: "u_boto", device: "boto3")
                let script = "\(Programs.checkout)/Tests/EndToEndTests/Clients/boto3_client.py"
                let (status, text) = try Self.run(
                    stack, "python",
                    [script, try EndToEnd.s3().url, SeaweedFS.bucket, "photos/u_boto/a.jpg", "photos/u_bot/a.jpg"],
                    token: token)
                #expect(text == "used\nrefreshed\n")
                #expect(status == 0)
                #expect(Self.vended(stack, to: "u_boto") == 2)
            }
        }

        /// boto3 refreshes from 15 minutes before the end on, which credentials of 900 s never are away from.
        @Test func `boto3 calls 200 times with credentials of 900 s, and is never refused`() throws {
            try Stack.run("boto3-short", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.token(user: "u_short", device: "boto3")
                let script = "\(Programs.checkout)/Tests/EndToEndTests/Clients/boto3_short.py"
                let (status, text) = try Self.run(
                    stack, "python", [script, try EndToEnd.s3().url, SeaweedFS.bucket, "photos/u_short/a.jpg"],
                    token: token, query: "?lifetimeSeconds=900")
                #expect(text == "200 calls\n")
                #expect(status == 0)
                #expect(Self.vended(stack, to: "u_short") >= 200)
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_limit_decisions_total", ["limit": "vend"]) == 1)
            }
        }

        @Test func `the aws CLI copies into its own prefix and nowhere else`() throws {
            try Stack.run("cli", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.token(user: "u_cli", device: "cli")
                let url = try EndToEnd.s3().url
                let file = "\(stack.folder)/photo"
                try "from the CLI".write(toFile: file, atomically: false, encoding: .utf8)
                func aws(_ arguments: [String]) throws -> (status: Int32?, text: String) {
                    try Self.run(stack, "aws", arguments + ["--endpoint-url", url, "--no-progress"], token: token)
                }
                let own = "s3://\(SeaweedFS.bucket)/photos/u_cli/a.jpg"
                let written = try aws(["s3", "cp", file, own])
                #expect(written.status == 0, "\(written.text)")
                let read = try aws(["s3", "cp", own, "-"])
                #expect(read.status == 0 && read.text == "from the CLI", "\(read.text)")
                let foreign = try aws(["s3", "cp", file, "s3://\(SeaweedFS.bucket)/photos/u_cl/a.jpg"])
                #expect(foreign.status == 1 && foreign.text.contains("AccessDenied"), "\(foreign.text)")
                #expect(Self.vended(stack, to: "u_cli") == 3)
            }
        }

        /// A line of the manual's page about SDKs, between two texts.
        private static func manual(from start: String, to end: String) throws -> String {
            let page = try String(
                contentsOfFile: "\(Programs.checkout)/Sources/cloakroom/cloakroom.docc/SDKs.md", encoding: .utf8)
            let first = try #require(page.range(of: start))
            let last = try #require(page.range(of: end, range: first.lowerBound..<page.endIndex))
            return String(page[first.lowerBound..<last.lowerBound])
        }

        @Test(.enabled(if: Programs.goClient != nil))
        func `the SDK for Go puts, gets, lists, refreshes and is refused elsewhere`() throws {
            let line = try Self.manual(from: "config.LoadDefaultConfig(ctx, config.WithCredentialsProvider", to: "`")
            let source = try String(
                contentsOfFile: "\(Programs.checkout)/Tests/EndToEndTests/Clients/go_client.go", encoding: .utf8)
            #expect(source.contains("return \(line)\n"))
            try Stack.run("go", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.token(user: "u_go", device: "go")
                let arguments = ["container", try EndToEnd.s3().url, SeaweedFS.bucket, "photos/u_go/", "photos/u_g/"]
                let (status, text) = try Self.run(
                    stack, path: try #require(Programs.goClient), arguments, token: token
                ) { url, _ in
                    ["AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": token]
                }
                #expect(text == "put\nget\nlist\nrefresh\nrefused\n")
                #expect(status == 0 && Self.vended(stack, to: "u_go") == 2)
            }
        }

        /// By the manual's lines, and by the variables of containers, which Debian's takes on loopback addresses.
        @Test(arguments: ["process", "container"])
        func `rclone copies into its own prefix and nowhere else`(way: String) throws {
            try Stack.run("rclone-\(way)", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.token(user: "u_rclone", device: "rclone")
                let source = "\(stack.folder)/a.jpg"
                try "from rclone".write(toFile: source, atomically: false, encoding: .utf8)
                let line = try Self.manual(from: "rclone copy", to: "`").split(separator: " ").map(String.init)
                let profile = try Self.manual(from: "[profile cloakroom]", to: "```")
                func rclone(_ user: String) throws -> (status: Int32?, text: String) {
                    let words =
                        line.dropFirst().map { word in
                            word == "a.jpg"
                                ? source
                                : word.replacing("BUCKET", with: SeaweedFS.bucket).replacing("USER", with: user)
                                    // For Amazon S3 it puts the bucket into the name of the host, whatever the endpoint.
                                    .replacing("provider=AWS", with: "provider=Other")
                        } + ["--retries", "1", "--low-level-retries", "1"]
                    let path = try Programs.rclone
                    return try Self.run(stack, path: path, words, token: token) { url, file in
                        let store = [
                            "RCLONE_S3_ENDPOINT": try EndToEnd.s3().url, "RCLONE_S3_REGION": SeaweedFS.region,
                        ]
                        guard way == "process" else {
                            let variables = [
                                "AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": token,
                            ]
                            return store.merging(variables) { $1 }
                        }
                        let config = "\(stack.folder)/aws-config"
                        try profile.replacing("https://api.example.com/v1/credentials", with: url)
                            .replacing("/run/token", with: file)
                            .write(toFile: config, atomically: false, encoding: .utf8)
                        return store.merging(["AWS_CONFIG_FILE": config, "AWS_PROFILE": "cloakroom"]) { $1 }
                    }
                }
                let written = try rclone("u_rclone")
                #expect(written.status == 0, "\(written.text)")
                #expect(try EndToEnd.s3().head("photos/u_rclone/a.jpg").fields["content-length"] == "11")
                #expect(Self.vended(stack, to: "u_rclone") > 0)
                let foreign = try rclone("u_rclon")
                #expect(foreign.status == 1 && foreign.text.contains("403"), "\(foreign.text)")
            }
        }
    }
}
