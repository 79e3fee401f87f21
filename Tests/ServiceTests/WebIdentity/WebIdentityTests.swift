import CloakroomAWS
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

/// STS' own wire: the same vending, asked for and told as AWS SDKs know it.
@Suite(.onLoop)
struct WebIdentityTests {
    private static let many = #"limits: {vend: {requests: 1000, whenRedisIsAway: "open"}}"#
    private static let role = "arn%3Aaws%3Aiam%3A%3A000000000000%3Arole"
    private static let form: HeaderFields = ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"]

    private func ask(
        _ service: TestService, _ form: String, query: String = "", fields: HeaderFields = Self.form
    ) async -> (status: String, xml: XMLElement?, text: String) {
        let answer = await service.ask(
            "POST", "/sts" + (query.isEmpty ? "" : "?\(query)"), fields: form.isEmpty ? [:] : fields, body: form)
        let parts = answer.split(separator: "\n\n", maxSplits: 1).map(String.init)
        return (String(answer.prefix(3)), parts.count == 2 ? try? XMLReader.read(Array(parts[1].utf8)) : nil, answer)
    }

    private func standard(_ token: String) -> String {
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=\(Self.role)%2Fsession&RoleSessionName=app&WebIdentityToken=\(token)"
    }

    @Test @LoopActor func `takes a token with the line feed that ends its file`() async throws {
        let service = try TestService(Self.many)
        for end in ["%0A", "%0D%0A"] {
            #expect(await ask(service, standard(try service.token()) + end).status == "200")
        }
        #expect(await ask(service, standard(try service.token()) + "%0Ax").status == "400")
        #expect(await ask(service, standard("%0A")).status == "400")
    }

    @Test @LoopActor func `vends in the XML of STS`() async throws {
        let service = try TestService(Self.many)
        let (status, xml, text) = await ask(service, standard(try service.token()))
        #expect(status == "200")
        let root = try #require(xml)
        #expect(root.name == "AssumeRoleWithWebIdentityResponse")
        let result = try #require(root["AssumeRoleWithWebIdentityResult"])
        let credentials = try #require(result["Credentials"])
        #expect(credentials.text(of: "AccessKeyId") == "ASIA1" && credentials.text(of: "SecretAccessKey") == "s3cr3t")
        #expect(credentials.text(of: "SessionToken") == "t0k3n")
        #expect(credentials.text(of: "Expiration") == "2027-01-15T09:00:00Z")
        #expect(result.text(of: "SubjectFromWebIdentityToken") == "u_1")
        #expect(result.text(of: "Provider") == "https://auth.example" && result.text(of: "Audience") == "cloakroom")
        #expect(
            result["AssumedRoleUser"]?.text(of: "Arn")?
                .hasPrefix("arn:aws:sts::000000000000:assumed-role/session/") == true)
        #expect(Int(result.text(of: "PackedPolicySize") ?? "").map { (1...100).contains($0) } == true)
        #expect(root["ResponseMetadata"]?.text(of: "RequestId") == "000000000000abcd")
        #expect(text.contains("\nContent-Type: text/xml\n") && text.contains("\nx-amzn-RequestId: 000000000000abcd\n"))
        #expect(text.contains(#"xmlns="https://sts.amazonaws.com/doc/2011-06-15/""#))
        #expect(service.auditLines.contains("u_1") && !service.auditLines.contains("s3cr3t"))
        #expect(try await service.logLines().contains(#""session":"app""#))
    }

    @Test @LoopActor func `takes the parameters of the query, and the older action`() async throws {
        let service = try TestService(Self.many)
        let (status, xml, _) = await ask(
            service, "",
            query:
                "Action=AssumeRoleWithClientGrants&Version=2011-06-15&Token=\(try service.token())&DurationSeconds=900")
        #expect(status == "200" && xml?.name == "AssumeRoleWithClientGrantsResponse")
        #expect(xml?["AssumeRoleWithClientGrantsResult"]?.text(of: "SubjectFromToken") == "u_1")
        let form = String(decoding: try #require(service.transport.requests.first).body, as: UTF8.self)
        #expect(form.contains("&DurationSeconds=900&"))
    }

    @Test @LoopActor func `hands out what the other routes have vended, each in its own form`() async throws {
        let service = try TestService(Self.many)
        let token = try service.token()
        let json = await service.ask("POST", "/api/v1/auth/sts-token", token: token)
        let first = await ask(service, standard(token))
        let second = await ask(service, standard(token))
        let other = await ask(service, "Action=AssumeRoleWithClientGrants&Token=\(token)")
        #expect(json.contains("ASIA1"))
        // But for what is left of the limit.
        #expect(first.text.split(separator: "\n").last == second.text.split(separator: "\n").last)
        #expect(other.xml?.name == "AssumeRoleWithClientGrantsResponse")
        #expect(service.transport.requests.count == 1)
    }

    @Test(arguments: [("read", "s3%3APutObject"), ("upload", "s3%3AGetObject")])
    @LoopActor func `takes a scope from the name of the role`(scope: String, missing: String) async throws {
        let service = try TestService(Self.many)
        let (status, _, _) = await ask(
            service,
            "Action=AssumeRoleWithWebIdentity&RoleArn=\(Self.role)%2F\(scope)&WebIdentityToken=\(try service.token())")
        #expect(status == "200")
        let form = String(decoding: try #require(service.transport.requests.first).body, as: UTF8.self)
        #expect(!form.contains(missing))
    }

    @Test(arguments: [
        ("Version=2011-06-15", "400 MissingParameter Action is missing"),
        ("Action=AssumeRole&WebIdentityToken=x", "400 InvalidAction There is no such action here; there are"),
        ("Action=GetCallerIdentity&Version=2011-06-15", "400 InvalidAction GetCallerIdentity is not answered here"),
        ("Action=AssumeRoleWithWebIdentity", "400 MissingParameter WebIdentityToken is missing"),
        ("Action=AssumeRoleWithClientGrants&WebIdentityToken=x", "400 MissingParameter Token is missing"),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=", "400 MissingParameter WebIdentityToken is missing"),
        (
            "Action=AssumeRoleWithWebIdentity&Version=2012&WebIdentityToken=T",
            "400 ValidationError Version must be 2011-06-15"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&Policy=%7B%7D",
            "400 ValidationError Policy and PolicyArns"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&PolicyArns.member.1.arn=x",
            "400 ValidationError Policy and PolicyArns"
        ),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&ProviderId=x", "400 ValidationError ProviderId is not"),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&RoleSessionName=a+b",
            "400 ValidationError RoleSessionName"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&DurationSeconds=1h",
            "400 ValidationError DurationSeconds"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&DurationSeconds=3601",
            "400 ValidationError DurationSeconds must be from 900 to 3600"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&RoleArn=session",
            "400 ValidationError RoleArn is no ARN"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&RoleArn=arn:aws:iam::111111111111:role/session",
            "403 AccessDenied RoleArn is of another account"
        ),
        (
            "Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&RoleArn=arn:aws:iam::000000000000:role/admin",
            "403 AccessDenied Scope not allowed"
        ),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=T&Action=x", "400 ValidationError The form cannot be read"),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=T%", "400 ValidationError The form cannot be read"),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=abc", "400 InvalidIdentityToken Invalid auth token"),
    ])
    @LoopActor func `refuses in STS' words`(form: String, expected: String) async throws {
        let service = try TestService(Self.many)
        let (status, xml, text) = await ask(service, form.replacing("Token=T", with: "Token=\(try service.token())"))
        let error = try #require(xml?["Error"])
        #expect(
            "\(status) \(error.text(of: "Code") ?? "") \(error.text(of: "Message") ?? "")".hasPrefix(expected),
            "\(text)")
        #expect(error.text(of: "Type") == "Sender" && xml?.text(of: "RequestId") == "000000000000abcd")
        #expect(service.transport.requests.isEmpty)
    }

    @Test @LoopActor func `refuses a parameter of both query and form, another content type, and another method`()
        async throws
    {
        let service = try TestService(Self.many)
        let form = standard(try service.token())
        #expect((await ask(service, form, query: "Version=2011-06-15")).text.contains("in the query and in the form"))
        let json = await ask(service, form, fields: ["Content-Type": "application/json"])
        #expect(json.status == "400" && json.text.contains("<Code>ValidationError</Code>"))
        let get = await service.ask("GET", "/sts?Action=GetCallerIdentity")
        #expect(get.hasPrefix("405\n") && get.contains("Allow: POST\n") && get.contains("<Code>InvalidAction</Code>"))
    }

    @Test @LoopActor func `says that a token is over, so that SDKs read their file again`() async throws {
        let service = try TestService(Self.many)
        let token = try service.token()
        service.clock.pass(2 * 86_400)
        let (status, xml, text) = await ask(service, standard(token))
        #expect(status == "400" && xml?["Error"]?.text(of: "Code") == "ExpiredTokenException", "\(text)")
        #expect(!text.contains("WWW-Authenticate"))
    }

    @Test @LoopActor func `responds with Throttling with Retry-After where a limit refuses`() async throws {
        let service = try TestService(#"limits: {vend: {requests: 1, whenRedisIsAway: "open"}}"#)
        let scopes = ["session", "read"]
        var last = (status: "", xml: XMLElement?.none, text: "")
        for scope in scopes {
            last = await ask(
                service,
                "Action=AssumeRoleWithWebIdentity&RoleArn=\(Self.role)%2F\(scope)&WebIdentityToken=\(try service.token())"
            )
        }
        #expect(last.status == "400" && last.xml?["Error"]?.text(of: "Code") == "Throttling", "\(last.text)")
        #expect(last.text.contains("\nRetry-After: "))
    }

    @Test @LoopActor func `responds with ServiceUnavailable where STS is unreachable`() async throws {
        let service = try TestService(Self.many) { _ in .error(503, "ServiceUnavailable") }
        let (status, xml, text) = await ask(service, standard(try service.token()))
        #expect(status == "503" && xml?["Error"]?.text(of: "Code") == "ServiceUnavailable", "\(text)")
        #expect(xml?["Error"]?.text(of: "Type") == "Receiver" && text.contains("\nRetry-After: "))
    }

    @Test @LoopActor func `takes longer tokens in a form than in the query, and none beyond`() async throws {
        let service = try TestService(Self.many)
        func code(_ characters: Int, inQuery: Bool) async -> String {
            let parameters =
                "Action=AssumeRoleWithWebIdentity&WebIdentityToken="
                + String(repeating: "a", count: characters)
            let answer = inQuery ? await ask(service, "", query: parameters) : await ask(service, parameters)
            #expect(answer.xml?["Error"]?.text(of: "Code") == "InvalidIdentityToken")
            return answer.text
        }
        for (characters, inQuery) in [(7_001, true), (20_001, false), (7_000, true), (20_000, false)] {
            _ = await code(characters, inQuery: inQuery)
        }
        let log = try await service.logLines()
        #expect(log.split(separator: "\n").count { $0.contains(#""reason":"too_large""#) } == 2)
        #expect(log.split(separator: "\n").count { $0.contains(#""reason":"malformed""#) } == 2)
    }
}

struct WebIdentityRoleTests {
    private let roles = SessionRoles(active: [
        SessionRole(
            name: "main", arn: "arn:aws:iam::000000000000:role/app/session", externalID: nil, profile: nil,
            sts: try! Endpoint.sts(region: "eu-central-1"))
    ])

    @Test(arguments: [
        ("", WebIdentityRole.whole), ("arn:aws:iam::000000000000:role/app/session", .whole),
        ("arn:aws:iam::000000000000:role/read", .scope("read")), ("arn:aws:iam::000000000000:role/a/b", .scope("a/b")),
        ("arn:aws:iam::000000000001:role/read", .foreign), ("arn:aws-cn:iam::000000000000:role/read", .foreign),
        ("arn:aws:iam::000000000000:user/read", .malformed), ("read", .malformed),
        ("arn:aws:iam::000000000000:role/", .malformed), ("arn:aws:sts::000000000000:role/read", .foreign),
    ])
    func `tells the role of the settings from a scope`(arn: String, expected: WebIdentityRole) {
        #expect(WebIdentityRole(arn, among: roles) == expected)
    }
}
