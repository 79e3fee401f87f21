import Foundation
import Testing

extension EndToEnd {
    /// The clients that apps have, through nginx: boto3 and the aws CLI.
    @Suite struct RealClients {
        private static func run(
            _ stack: Stack, _ program: String, _ arguments: [String], token: String, query: String = ""
        ) throws -> (status: Int32?, text: String) {
            let port = try #require(stack.nginx).port
            let folder = try RunFolder.make("client")
            let file = "\(folder)/token"
            try token.write(toFile: file, atomically: false, encoding: .utf8)
            let client = try RunningProgram(
                "\(try Programs.clients)/\(program)", arguments, output: "\(folder)/output",
                environment: [
                    "HOME": folder, "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": SeaweedFS.region,
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:\(port)/v1/credentials\(query)",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file, "PYTHONDONTWRITEBYTECODE": "1",
                ])
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
    }
}
