import Foundation
import Testing

extension EndToEnd {
    /// Where a worker without keys in its settings gets its credentials.
    @Suite struct OwnCredentials {
        /// - Parameter variables: what the worker's environment has besides.
        private static func options(_ variables: String) -> Stack.Options {
            Stack.Options(
                s3: true, shell: "export AWS_EC2_METADATA_DISABLED=true \(variables); exec \"$@\"",
                settings: {
                    $0["aws.accessKeyID"] = nil
                    $0["aws.secretAccessKey"] = nil
                })
        }

        @Test func `a worker with nothing but a credentials file vends`() throws {
            let folder = try RunFolder.make("shared")
            let file = "\(folder)/credentials"
            try """
            [broker]
            aws_access_key_id = \(SeaweedFS.broker)
            aws_secret_access_key = \(SeaweedFS.brokerSecret)
            """.write(toFile: file, atomically: false, encoding: .utf8)
            let variables = "AWS_SHARED_CREDENTIALS_FILE=\(file) AWS_CONFIG_FILE=/dev/null AWS_PROFILE=broker"
            try Stack.run("shared", Self.options(variables)) { stack in
                try stack.waitUntilReady()
                #expect(try stack.ask(.ready)["credentials"] == "ok")
                #expect(try stack.ask(.vend(Tokens.fresh())).status == 200)
                let lines = stack.logLines("AWS credentials are there")
                #expect(lines.map { $0["provider"] as? String } == ["profile"])
                #expect(lines.first?["origin"] as? String == "profile broker")
            }
        }

        @Test func `a program gives the worker its credentials`() throws {
            let folder = try RunFolder.make("process")
            let (config, program) = ("\(folder)/config", "\(folder)/broker")
            let document =
                #"{"Version":1,"AccessKeyId":"\#(SeaweedFS.broker)","SecretAccessKey":"\#(SeaweedFS.brokerSecret)"}"#
            try "#!/bin/sh\necho complaint >&2\ncat <<'END'\n\(document)\nEND\n"
                .write(toFile: program, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
            try "[default]\ncredential_process = \(program)\n"
                .write(toFile: config, atomically: false, encoding: .utf8)
            let variables = "AWS_CONFIG_FILE=\(config) AWS_SHARED_CREDENTIALS_FILE=/dev/null"
            try Stack.run("process", Self.options(variables)) { stack in
                try stack.waitUntilReady()
                #expect(try stack.ask(.vend(Tokens.fresh())).status == 200)
                #expect(!stack.log.contains("complaint"))
            }
        }

        @Test func `check tells of a role without credentials, with which the worker starts`() throws {
            let folder = try RunFolder.make("roles")
            let file = "\(folder)/cloakroom.json5"
            #expect(try Command(["init", "--seaweedfs", folder]).status == 0)
            let text = RunFolder.text(of: file)
            let roles = #"roles: [{name: "second", roleARN: "arn:aws:iam::210987654321:role/r", profile: "second"}],"#
            try text.replacing("vending: {", with: "vending: {\(roles)", maxReplacements: 1)
                .write(toFile: file, atomically: false, encoding: .utf8)
            let variables = ["AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"]
            let check = try Command(["check", file], environment: variables)
            #expect(check.status == 0, "\(check.text)")
            #expect(
                check.text.contains("\nerror: the role second has no credentials: its users get 503: "), "\(check.text)"
            )
            #expect(try Command(["check", "--strict", file], environment: variables).status == 1)
        }

        @Test func `without any it starts, says why at once, and vends nothing`() throws {
            let variables = "AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null"
            try Stack.run("none", Self.options(variables)) { stack in
                try wait(for: "the first look") { try stack.ask(.ready)["credentials"] != "not asked yet" }
                let reply = try stack.ask(.ready)
                #expect(reply.status == 503)
                #expect(reply["credentials"]?.hasPrefix("environment: AWS_ACCESS_KEY_ID is not set; ") == true)
                #expect(reply["credentials"]?.hasSuffix("instance: AWS_EC2_METADATA_DISABLED is true") == true)
                #expect(try stack.ask(.vend(Tokens.fresh())).status == 503)
                #expect(stack.logLines("no AWS credentials").count == 1)
                let check = try Command(
                    ["check", stack.settingsFile],
                    environment: TestSettings.environment.merging([
                        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
                        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                    ]) { $1 })
                #expect(check.status == 1)
                #expect(
                    check.text.contains(
                        "but there are no AWS credentials\n  environment: AWS_ACCESS_KEY_ID is not set\n"))
            }
        }
    }
}
