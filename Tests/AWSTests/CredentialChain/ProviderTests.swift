import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

/// What each provider asks, and what it takes for an answer.
struct ProviderTests {
    // MARK: Environment

    @Test func `the environment's session token and its end`() async throws {
        let machine = Machine([
            "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "shh", "AWS_SESSION_TOKEN": "tok",
            "AWS_CREDENTIAL_EXPIRATION": Documents.later,
        ])
        let expected = Credentials(
            accessKeyID: "A", secretAccessKey: Secret("shh"), sessionToken: Secret("tok"),
            expiration: Timestamp(iso8601: Documents.later)?.date)
        #expect(try await machine.found().get() == expected)
        #expect("\(AWSEnvironment(["AWS_SECRET_ACCESS_KEY": "shh"]))" == "AWSEnvironment(AWS_SECRET_ACCESS_KEY)")
    }

    // MARK: Web identity

    private static let web = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/run/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/w"]

    @Test func `a web identity's token is read anew for each try, and nothing is signed`() async throws {
        let machine = Machine(
            Self.web.merging(["AWS_ROLE_SESSION_NAME": "pod+1"]) { $1 }, files: ["/run/token": "jwt.1\n"],
            [.success(.stsError(400, "ExpiredTokenException")), Documents.webIdentity("WEB")])
        #expect(await machine.outcome() == "WEB")
        let requests = machine.transport.requests
        #expect(requests.count == 2)
        #expect(requests[0].url == "https://sts.eu-central-1.amazonaws.com/")
        #expect(
            String(decoding: requests[0].body, as: UTF8.self)
                == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fw"
                + "&RoleSessionName=pod%2B1&WebIdentityToken=jwt.1")
        #expect(requests.allSatisfy { $0.fields["authorization"] == nil })
    }

    @Test(arguments: [
        (UpstreamResponse.stsError(400, "IDPCommunicationError"), 3, "IDPCommunicationError 400"),
        (.stsError(403, "AccessDenied"), 1, "AccessDenied 403"),
        (.stsError(400, "InvalidIdentityToken"), 1, "InvalidIdentityToken 400"),
    ])
    func `what STS says of a web identity`(answer: UpstreamResponse, tries: Int, reason: String) async {
        let machine = Machine(Self.web, files: ["/run/token": "jwt"], [.success(answer)])
        #expect(
            await machine.outcome().hasSuffix(
                "web identity: AssumeRoleWithWebIdentity of arn:aws:iam::1:role/w: \(reason)"))
        #expect(machine.transport.requests.count == tries)
    }

    @Test func `a web identity without its file or its role`() async {
        #expect(
            await Machine(Self.web).outcome().hasSuffix(
                "web identity: AWS_WEB_IDENTITY_TOKEN_FILE names /run/token, which cannot be read"))
        #expect(
            await Machine(["AWS_WEB_IDENTITY_TOKEN_FILE": "/run/token"]).outcome().hasSuffix(
                "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not"))
        let twoLines = Machine(Self.web, files: ["/run/token": "a\r\nb"])
        #expect(await twoLines.outcome().hasSuffix("names /run/token, which holds no token of one line"))
        #expect(twoLines.transport.requests.isEmpty)
    }

    // MARK: Container

    @Test(arguments: [
        ("http://127.0.0.1:8080/v1/credentials", "http://127.0.0.1:8080/v1/credentials"),
        ("http://127.9.9.9/c?role=x", "http://127.9.9.9/c?role=x"), ("http://localhost/c", "http://localhost/c"),
        ("http://[::1]:80/c", "http://[::1]/c"), ("http://169.254.170.2/c", "http://169.254.170.2/c"),
        ("http://169.254.170.23/v1/credentials", "http://169.254.170.23/v1/credentials"),
        ("http://[fd00:ec2::23]/v1/credentials", "http://[fd00:ec2::23]/v1/credentials"),
        ("https://vault.example/c", "https://vault.example/c"), ("https://vault.example?c", "https://vault.example/?c"),
    ])
    func `the container's endpoint is asked with its token`(given: String, asked: String) async {
        let machine = Machine(
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": given, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic x"],
            [Documents.json(200, Documents.container("C"))])
        #expect(await machine.outcome() == "C")
        #expect(machine.transport.requests.map(\.url) == [asked])
        #expect(machine.transport.requests[0].fields["authorization"] == "Basic x")
        #expect(machine.transport.timeouts == [.seconds(2)])
    }

    @Test(arguments: [
        "http://169.254.170.3/c", "http://vault.example/c", "http://127.0.0.1.evil.example/c",
        "http://[fd00:ec2::24]/c",
        "http://u@127.0.0.1/c", "ftp://127.0.0.1/c", "127.0.0.1/c", "http://127.0.0.1/c#d", "http://127.0.0.1/a b",
        "http://127.0.0.1\r\n/c",
    ])
    func `the container's token goes nowhere else`(url: String) async {
        let machine = Machine(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t"])
        #expect(await machine.outcome().contains("container: AWS_CONTAINER_CREDENTIALS_FULL_URI"))
        #expect(machine.transport.requests.isEmpty)
    }

    @Test func `the container's token file counts more than the variable, and is read anew`() async throws {
        let machine = Machine(
            [
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/uuid",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/run/pod", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "old",
            ], files: ["/run/pod": "first"],
            [
                Documents.json(200, Documents.container("C1", expiration: "2026-11-20T14:20:00Z")),
                Documents.json(200, Documents.container("C2")),
            ])
        let credentials = RefreshingCredentials(machine.chain(), runtime: machine.time.runtime)
        #expect(try await credentials.current().accessKeyID == "C1")
        machine.write("/run/pod", "second\n")
        machine.time.pass(.seconds(1140))
        #expect(try await credentials.current().accessKeyID == "C2")
        #expect(machine.transport.requests.map { $0.fields["authorization"] } == ["first", "second"])
        #expect(machine.transport.requests[0].url == "http://169.254.170.2/v2/credentials/uuid")
    }

    @Test func `a token that would break out of its field is not sent`() async {
        let uri = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"]
        let variable = Machine(uri.merging(["AWS_CONTAINER_AUTHORIZATION_TOKEN": "a\r\nHost: evil"]) { $1 })
        #expect(await variable.outcome().hasSuffix("has characters that no header field may have"))
        let file = Machine(
            uri.merging(["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/t"]) { $1 }, files: ["/t": "a\r\nHost: evil"])
        #expect(await file.outcome().hasSuffix("holds no token of one line"))
        #expect(variable.transport.requests.isEmpty && file.transport.requests.isEmpty)
    }

    @Test(
        arguments: [
            ([.failure(.unreachable)], 3, "unreachable"), ([.failure(.timeout)], 3, "timeout"),
            ([.failure(.untrusted)], 1, "untrusted"), ([Documents.json(500, "")], 3, "responds with 500"),
            ([Documents.json(403, #"{"code":"AccessDenied","message":"no"}"#)], 1, "responds with 403 AccessDenied"),
            ([Documents.json(302, "")], 1, "responds with 302"), ([Documents.json(200, "<html>")], 1, "no JSON object"),
            ([Documents.json(200, #"{"AccessKeyId":"A","SecretAccessKey":"s","Token":"t"}"#)], 1, "no Expiration"),
            ([Documents.json(200, #"{"AccessKeyId":"A","Token":"t","Expiration":"x"}"#)], 1, "no SecretAccessKey"),
            ([Documents.json(200, #"{"AccessKeyId":"A\r\nB","SecretAccessKey":"s"}"#)], 1, "no AccessKeyId"),
            (
                [Documents.json(200, Documents.container("A", expiration: "2026-11-20T13:00:00Z"))], 1,
                "the credentials have ended already"
            ),
        ] as [([Result<UpstreamResponse, TransportError>], Int, String)])
    func `what a container's endpoint may do`(
        answers: [Result<UpstreamResponse, TransportError>], tries: Int, reason: String
    ) async {
        let machine = Machine(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"], answers)
        #expect(await machine.outcome().contains(reason))
        #expect(machine.transport.requests.count == tries)
    }

    // MARK: Instance

    @Test func `the instance's role comes through version 2`() async throws {
        let machine = Machine(
            [:],
            [
                Documents.json(200, "tok=="), Documents.json(200, "my role\nother\n"),
                Documents.json(200, Documents.instance("I")),
            ])
        let names = Machine(
            [:],
            [
                Documents.json(200, "tok=="), Documents.json(200, "my-role\nother\n"),
                Documents.json(200, Documents.instance("I")),
            ])
        #expect(await machine.outcome().hasSuffix("instance: the instance has no role"))
        #expect(await names.outcome() == "I")
        let requests = names.transport.requests
        let base = "http://169.254.169.254/latest"
        #expect(
            requests.map { "\($0.method) \($0.url)" } == [
                "PUT \(base)/api/token", "GET \(base)/meta-data/iam/security-credentials/",
                "GET \(base)/meta-data/iam/security-credentials/my-role",
            ])
        #expect(requests[0].fields["x-aws-ec2-metadata-token-ttl-seconds"] == "21600")
        #expect(requests[1...].allSatisfy { $0.fields["x-aws-ec2-metadata-token"] == "tok==" })
        #expect(names.transport.timeouts == [.seconds(1), .seconds(1), .seconds(1)])
    }

    @Test(
        arguments: [
            ([:], [.failure(.timeout)], 1, "no metadata service of an instance responds (timeout)"),
            ([:], [Documents.json(404, "")], 1, "gives no token (404); version 2 is needed"),
            ([:], [Documents.json(403, "")], 1, "gives no token (403); version 2 is needed"),
            ([:], [Documents.json(200, "t"), Documents.json(404, "")], 2, "the instance has no role"),
            ([:], [Documents.json(200, "t"), Documents.json(500, "")], 2, "responds with 500"),
            (
                [:], [Documents.json(200, "t"), Documents.json(200, "r"), Documents.json(200, #"{"Code":"Failed"}"#)],
                3,
                "has no credentials for its role r"
            ),
            (["AWS_EC2_METADATA_DISABLED": "TRUE"], [], 0, "AWS_EC2_METADATA_DISABLED is true"),
            (["AWS_EC2_METADATA_SERVICE_ENDPOINT": "nowhere"], [], 0, "AWS_EC2_METADATA_SERVICE_ENDPOINT is no URL"),
        ] as [([String: String], [Result<UpstreamResponse, TransportError>], Int, String)])
    func `what an instance's metadata service may do`(
        environment: [String: String], answers: [Result<UpstreamResponse, TransportError>], tries: Int, reason: String
    ) async {
        let machine = Machine(environment, answers)
        #expect(await machine.outcome().contains(reason))
        #expect(machine.transport.requests.count == tries)
    }

    @Test(arguments: [
        (["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1338/"], "http://127.0.0.1:1338/latest/api/token"),
        (["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE": "IPv6"], "http://[fd00:ec2::254]/latest/api/token"),
    ])
    func `the metadata service may be elsewhere`(environment: [String: String], url: String) async {
        let machine = Machine(environment)
        _ = await machine.outcome()
        #expect(machine.transport.requests.map(\.url) == [url])
    }
}
