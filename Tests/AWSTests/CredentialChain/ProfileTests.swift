import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

/// The shared config and credentials files.
struct ProfileTests {
    private static func machine(
        config: String = "", credentials: String = "", environment: [String: String] = [:],
        output: Result<String, CredentialProviderError> = .failure(.failed("no such program")),
        _ answers: [Result<UpstreamResponse, TransportError>] = [.failure(.unreachable)]
    ) -> Machine {
        Machine(
            environment.merging(["HOME": "/h", "AWS_EC2_METADATA_DISABLED": "true"]) { $1 },
            files: ["/h/.aws/config": config, "/h/.aws/credentials": credentials], output: output, answers)
    }

    @Test(arguments: [
        "[default]\naws_access_key_id=A\naws_secret_access_key=shh",
        "\u{FEFF}# comment\n[other]\nx = y\n[default]\n",
        "# a comment\n; another\n\n[ default ]\r\naws_access_key_id = A\r\naws_secret_access_key = shh ; why\r\n",
        "[default]\nAWS_ACCESS_KEY_ID = B\naws_access_key_id = A # the last counts\naws_secret_access_key = s=h\n",
        "[default]\naws_access_key_id = A\naws_secret_access_key = shh\ns3 =\n  aws_access_key_id = NESTED\n  x\n",
    ])
    func `files as people write them`(text: String) async {
        let isMarked = text.hasPrefix("\u{FEFF}")
        let outcome = await Self.machine(credentials: text).outcome()
        // A byte order mark is no comment.
        #expect(isMarked ? outcome.contains("credentials, line 1: neither a section") : outcome == "A")
    }

    @Test(arguments: [
        ("nothing\n[default]", 1), ("[default]\nx = 1\nno property", 3), ("[default", 1), ("[]", 1), ("a = b", 1),
    ])
    func `files that are none name the line`(text: String, line: Int) async {
        #expect(await Self.machine(config: text).outcome().contains("/h/.aws/config, line \(line): neither a section"))
    }

    @Test func `both files are elsewhere if the environment says so, and the credentials file counts more`() async {
        let machine = Machine(
            [
                "HOME": "/h", "AWS_CONFIG_FILE": "~/c", "AWS_SHARED_CREDENTIALS_FILE": "/s", "AWS_PROFILE": "two words",
            ],
            files: [
                "/h/c": "[profile \"two words\"]\naws_access_key_id = CONFIG\naws_secret_access_key = shh\n",
                "/s": "[two words]\naws_access_key_id = SHARED\naws_secret_access_key = shh\n",
            ])
        #expect(await machine.outcome() == "SHARED")
    }

    @Test func `a role through a source, and that through another`() async throws {
        let config = """
            [default]
            role_arn = arn:aws:iam::1:role/last
            source_profile = middle
            external_id = ext-1
            duration_seconds = 1800
            role_session_name = me
            [profile middle]
            role_arn = arn:aws:iam::1:role/first
            source_profile = base
            [profile base]
            aws_access_key_id = BASE
            aws_secret_access_key = shh
            """
        let machine = Self.machine(config: config, [Documents.role("MIDDLE"), Documents.role("LAST")])
        #expect(await machine.outcome() == "LAST")
        let requests = machine.transport.requests
        #expect(requests[0].fields["authorization"]?.contains("Credential=BASE/") == true)
        #expect(requests[1].fields["authorization"]?.contains("Credential=MIDDLE/") == true)
        let body = String(decoding: requests[1].body, as: UTF8.self)
        for part in ["role%2Flast&RoleSessionName=me&DurationSeconds=1800", "&ExternalId=ext-1"] {
            #expect(body.contains(part), "\(body)")
        }
    }

    @Test func `a role through what the machine has`() async {
        let config = "[default]\nrole_arn = arn:aws:iam::1:role/r\ncredential_source = "
        let environment = Self.machine(
            config: config + "Environment", environment: ["AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "shh"],
            [Documents.role("R")])
        // The environment itself would come first.
        #expect(await environment.outcome(only: .profile) == "R")
        let container = Self.machine(
            config: config + "EcsContainer", environment: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c"],
            [Documents.json(200, Documents.container("C")), Documents.role("R")])
        #expect(await container.outcome() == "R")
        #expect(container.transport.requests.last?.fields["authorization"]?.contains("Credential=C/") == true)
        let instance = Self.machine(config: config + "Ec2InstanceMetadata")
        #expect(
            await instance.outcome().hasSuffix(
                "profile default, credential_source Ec2InstanceMetadata: AWS_EC2_METADATA_DISABLED is true"))
    }

    @Test func `a profile that is its own source has keys`() async {
        let config = "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = default\n"
        let keys = "aws_access_key_id = OWN\naws_secret_access_key = shh\n"
        #expect(await Self.machine(config: config + keys, [Documents.role("R")]).outcome() == "R")
        #expect(await Self.machine(config: config).outcome().hasSuffix("goes in a circle: default → default"))
    }

    @Test(arguments: [
        (
            "source_profile = a\n[profile a]\nrole_arn = r\nsource_profile = default",
            "in a circle: default → a → default"
        ),
        ("source_profile = a", "there is no source_profile a"),
        ("source_profile = a\n[profile a]\nregion = x", "profile a, the source of default, holds no credentials"),
        ("region = x", "has role_arn, but neither source_profile nor credential_source"),
        ("source_profile = a\ncredential_source = Environment", "has both source_profile and credential_source"),
        ("credential_source = Cloud", "credential_source is none of Environment, EcsContainer, Ec2InstanceMetadata"),
        ("source_profile = a\nmfa_serial = arn:aws:iam::1:mfa/me", "has mfa_serial, and a service cannot enter a code"),
        (
            "duration_seconds = 1\nsource_profile = a\n[profile a]\naws_access_key_id = A\naws_secret_access_key = s",
            "duration_seconds is no number from 900 to 43200"
        ),
    ])
    func `roles that cannot be`(rest: String, reason: String) async {
        let machine = Self.machine(config: "[default]\nrole_arn = arn:aws:iam::1:role/r\n" + rest)
        #expect(await machine.outcome().hasSuffix(reason))
        #expect(machine.transport.requests.isEmpty)
    }

    @Test func `a profile's own web identity`() async {
        let machine = Machine(
            ["HOME": "/h"],
            files: [
                "/h/.aws/config": "[default]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = ~/token\n",
                "/h/token": "jwt",
            ], [Documents.webIdentity("W")])
        #expect(await machine.outcome() == "W")
    }

    @Test(arguments: ["sso_session = corp", "sso_start_url = https://x", "login_session = arn:aws:sts::1:x"])
    func `profiles for people are refused in words`(line: String) async {
        let machine = Self.machine(config: "[default]\n\(line)\n[sso-session corp]\nsso_region = x\n")
        #expect(await machine.outcome().hasSuffix("give it role_arn, credential_process or keys"))
        #expect(throws: CredentialChainError.self) { try machine.chain().expectedOrigin() }
    }

    // MARK: credential_process

    @Test(arguments: [
        ("/bin/broker get --name x", ["/bin/broker", "get", "--name", "x"]),
        (#""/opt/my broker" 'a b' c\ d ''"#, ["/opt/my broker", "a b", "c d", ""]),
        (#"b "a\"b" "a\nb" 'a\b'"#, ["b", #"a"b"#, #"a\nb"#, #"a\b"#]),
        ("b $HOME; rm *", ["b", "$HOME;", "rm", "*"]),
    ])
    func `a program is named without a shell`(command: String, words: [String]) async {
        let machine = Self.machine(
            config: "[default]\ncredential_process = \(command)", output: .success(Documents.process("P")))
        #expect(await machine.outcome() == "P")
        #expect(machine.ran == [words])
    }

    @Test(arguments: [
        ("b 'a", Documents.process("P"), "has a quote that does not end"),
        ("b", "", "wrote no JSON object"), ("b", Documents.process("P", version: 2), #"wrote no "Version": 1"#),
        ("b", #"{"Version":1,"AccessKeyId":"A"}"#, "no SecretAccessKey"),
        ("b", #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"soon"}"#, "no Expiration"),
    ])
    func `programs that give none`(command: String, output: String, reason: String) async {
        let machine = Self.machine(config: "[default]\ncredential_process = \(command)", output: .success(output))
        let outcome = await machine.outcome()
        #expect(outcome.contains("profile: profile default: ") && outcome.contains(reason), "\(outcome)")
    }

    @Test func `a program's keys need not end`() async throws {
        let machine = Self.machine(
            config: "[default]\ncredential_process = b",
            output: .success(#"{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s", "Expiration": null}"#))
        #expect(try await machine.found().get() == Credentials(accessKeyID: "A", secretAccessKey: Secret("s")))
    }
}
