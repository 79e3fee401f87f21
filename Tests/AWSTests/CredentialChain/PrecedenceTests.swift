import CloakroomAWS
import CloakroomHTTP
import Testing

/// Who is asked before whom. Source: botocore 1.44.5, `create_credential_resolver`.
struct PrecedenceTests {
    /// Everything that a machine can have at once; each case takes away what was found before.
    private enum Origin: String, CaseIterable {
        case environment = "ENVIRONMENT"
        case roleProfile = "ROLE"
        case webIdentity = "WEB"
        case credentialsFile = "SHARED"
        case process = "PROCESS"
        case configFile = "CONFIG"
        case container = "CONTAINER"
        case instance = "INSTANCE"
    }

    private static func machine(with origins: some Sequence<Origin>) -> Machine {
        let origins = Set(origins)
        var environment = ["HOME": "/home/w"]
        var config = "[default]\nregion = eu-central-1\n"
        var files: [String: String] = [:]
        var answers: [Result<UpstreamResponse, TransportError>] = []
        if origins.contains(.instance) {
            answers = [
                Documents.json(200, "token"), Documents.json(200, "role"),
                Documents.json(200, Documents.instance("INSTANCE")),
            ]
        } else {
            environment["AWS_EC2_METADATA_DISABLED"] = "true"
        }
        if origins.contains(.container) {
            environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/1"
            answers = [Documents.json(200, Documents.container("CONTAINER"))]
        }
        if origins.contains(.configFile) { config += "aws_access_key_id = CONFIG\naws_secret_access_key = shh\n" }
        if origins.contains(.process) { config += "credential_process = /bin/broker\n" }
        if origins.contains(.credentialsFile) {
            files["/home/w/.aws/credentials"] = "[default]\naws_access_key_id = SHARED\naws_secret_access_key = shh\n"
        }
        if origins.contains(.webIdentity) {
            environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/run/token"
            environment["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/web"
            files["/run/token"] = "jwt\n"
            answers = [Documents.webIdentity("WEB")]
        }
        if origins.contains(.roleProfile) {
            config += "role_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
            config += "[profile base]\naws_access_key_id = BASE\naws_secret_access_key = shh\n"
            answers = [Documents.role("ROLE")]
        }
        if origins.contains(.environment) {
            environment["AWS_ACCESS_KEY_ID"] = "ENVIRONMENT"
            environment["AWS_SECRET_ACCESS_KEY"] = "shh"
        }
        files["/home/w/.aws/config"] = config
        return Machine(environment, files: files, output: .success(Documents.process("PROCESS")), answers)
    }

    @Test(arguments: Origin.allCases.indices)
    private func `the first place that is set up is the one`(index: Int) async {
        let origins = Origin.allCases[index...]
        #expect(await Self.machine(with: origins).outcome() == origins.first?.rawValue)
    }

    @Test func `a machine without any says so of each`() async {
        #expect(
            await Self.machine(with: []).outcome()
                == "environment: AWS_ACCESS_KEY_ID is not set; role profile: profile default has no role_arn; "
                + "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; profile: profile default holds no credentials; "
                + "container: neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is "
                + "set; instance: AWS_EC2_METADATA_DISABLED is true")
    }

    @Test func `who is set up and fails is not passed over`() async {
        let keys = ["AWS_ACCESS_KEY_ID": "HALF", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"]
        let machine = Machine(keys, [Documents.json(200, Documents.container("CONTAINER"))])
        #expect(await machine.outcome() == "environment: AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not")
        #expect(machine.transport.requests.isEmpty)
    }

    @Test func `a profile that the settings name comes before the environment, AWS_PROFILE does not`() async {
        let environment = [
            "HOME": "/h", "AWS_PROFILE": "other", "AWS_ACCESS_KEY_ID": "ENVIRONMENT", "AWS_SECRET_ACCESS_KEY": "shh",
        ]
        let files = [
            "/h/.aws/credentials": """
            [named]
            aws_access_key_id = NAMED
            aws_secret_access_key = shh
            [other]
            aws_access_key_id = OTHER
            aws_secret_access_key = shh
            """
        ]
        #expect(await Machine(environment, files: files).outcome() == "ENVIRONMENT")
        #expect(await Machine(environment, profile: "named", files: files).outcome() == "NAMED")
        #expect(await Machine(environment, files: files).outcome(only: .profile) == "OTHER")
        #expect(await Machine(environment, profile: "nobody", files: files).outcome().contains("no profile nobody"))
    }

    /// botocore leaves out all of the environment then (`disable_env_vars`), the token file of a pod included.
    @Test func `a profile that the settings name comes before the web identity of the environment`() async {
        let environment = [
            "HOME": "/h", "AWS_WEB_IDENTITY_TOKEN_FILE": "/run/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/web",
        ]
        let files = [
            "/h/.aws/credentials": "[named]\naws_access_key_id = NAMED\naws_secret_access_key = shh\n",
            "/run/token": "jwt\n",
        ]
        func machine(_ profile: String?) -> Machine {
            Machine(environment, profile: profile, files: files, [Documents.webIdentity("WEB")])
        }
        #expect(await machine("named").outcome() == "NAMED")
        #expect(await machine("named").outcome(only: .webIdentity) == "WEB")
        #expect(await machine(nil).outcome() == "WEB")
    }

    @Test(arguments: [
        (ProviderName.environment, "ENVIRONMENT"), (.webIdentity, "WEB"), (.profile, "SHARED"),
    ])
    func `one that is named is asked alone`(name: ProviderName, expected: String) async {
        let origins: [Origin] = [.environment, .webIdentity, .credentialsFile]
        #expect(await Self.machine(with: origins).outcome(only: name) == expected)
        #expect(await Self.machine(with: [.environment]).outcome(only: .container).hasPrefix("container: neither"))
    }

    @Test(arguments: Origin.allCases.indices)
    private func `tells whose they would be without asking anybody`(index: Int) throws {
        let machine = Self.machine(with: Origin.allCases[index...])
        let origins = [
            "environment", "profile default, role arn:aws:iam::1:role/r", "web identity, role arn:aws:iam::1:role/web",
            "profile default", "profile default, credential_process", "profile default", "container",
            "instance, if this is one",
        ]
        #expect(try machine.chain().expectedOrigin() == origins[index])
        #expect(machine.transport.requests.isEmpty && machine.ran.isEmpty)
    }
}
