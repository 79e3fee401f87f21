import CloakroomAWS
import CloakroomCurl
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

/// The sources of the worker's own credentials, through the real transport.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AWSCredentialProviderTests {
    private static let document = """
        {"Code":"Success","AccessKeyId":"ASIA1","SecretAccessKey":"shh","Token":"tok","Expiration":"2999-01-01T00:00:00Z"}
        """

    @LoopActor private func outcome(_ environment: [String: String]) async throws -> String {
        let runtime = RuntimeDependencies(sleep: { _ in }, spawn: { body in LoopActor.spawn { await body() } })
        let dependencies = CredentialChainDependencies(
            environment: AWSEnvironment(environment), readFile: { _ in nil },
            run: { _ throws(CredentialProviderError) in throw .failed("no programs here") },
            transport: LoopCurlTransport(),
            sts: try .sts(region: "eu-west-1"), runtime: runtime, isolation: LoopActor.shared)
        let isContainer = environment.keys.contains("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        let chain = CredentialChain(dependencies: dependencies, only: isContainer ? .container : .instance)
        do throws(CredentialChainError) {
            return try await RefreshingCredentials(chain, runtime: runtime).current().accessKeyID
        } catch {
            return error.summary
        }
    }

    @Test @LoopActor func `the container's endpoint`() async throws {
        let server = try HTTPServer { request in
            request["authorization"] == "Basic x" ? [.answer(200, Self.document)] : [.answer(401)]
        }
        let uri = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(server.url)/v1/credentials?a=b"]
        let token = ["AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic x"]
        #expect(try await outcome(uri.merging(token) { $1 }) == "ASIA1")
        #expect(server.requests.map(\.target) == ["/v1/credentials?a=b"])
        #expect(try await outcome(uri) == "container: the container's endpoint responds with 401")
    }

    @Test @LoopActor func `the instance's metadata service, version 2`() async throws {
        let server = try HTTPServer { request in
            switch (request.method, request.target, request["x-aws-ec2-metadata-token"]) {
            case ("PUT", "/latest/api/token", nil) where request["x-aws-ec2-metadata-token-ttl-seconds"] == "21600":
                [.answer(200, "session")]
            case ("GET", "/latest/meta-data/iam/security-credentials/", "session"): [.answer(200, "broker")]
            case ("GET", "/latest/meta-data/iam/security-credentials/broker", "session"): [.answer(200, Self.document)]
            default: [.answer(400)]
            }
        }
        #expect(try await outcome(["AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url]) == "ASIA1")
        #expect(server.requests.count == 3)
    }

    @Test @LoopActor func `one that never answers is given up after a second`() async throws {
        let never = Latch()
        defer { never.open() }
        let silent = try HTTPServer { _ in [.wait(never)] }
        #expect(
            try await outcome(["AWS_EC2_METADATA_SERVICE_ENDPOINT": silent.url])
                == "instance: no metadata service of an instance responds (timeout)")
        #expect(silent.requests.count == 1)
    }

    @Test @LoopActor func `a container's endpoint that proves nothing is not believed`() async throws {
        let plain = try SocketServer { peer, _ in
            _ = try? peer.read()
            try? peer.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        defer { plain.stop() }
        #expect(
            try await outcome(["AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://127.0.0.1:\(plain.port)/"])
                == "container: the container's endpoint: interrupted")
    }

    @Test @LoopActor func `a redirect takes no token elsewhere`() async throws {
        let elsewhere = try HTTPServer { _ in [.answer(200, Self.document)] }
        let server = try HTTPServer { _ in [.answer(302, fields: [("Location", elsewhere.url)])] }
        #expect(
            try await outcome([
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t",
            ]) == "container: the container's endpoint responds with 302")
        #expect(elsewhere.connections == 0)
    }
}
