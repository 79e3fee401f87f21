import CloakroomAWS
import CloakroomHTTP
import CloakroomJSON
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// Scopes whose policy is another for each request.
@Suite(.onLoop)
struct RequestPlaceholderTests {
    private static func template(_ condition: String) -> String {
        #"""
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject",
          "Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/*", "Condition": {\#(condition)}}]}
        """#
    }

    private static let here = #""IpAddress": {"aws:SourceIp": "${clientAddress}"}"#
    private static let soon = #""DateLessThan": {"aws:CurrentTime": "${now+300s}"}"#

    private static func policy(_ condition: String, store: ObjectStore = .aws) throws -> SessionPolicy {
        try PolicyTemplate(bucket: "b", partition: "aws", store: store).policy(
            from: JSON(parsing: Array(template(condition).utf8)))
    }

    @LoopActor private func service(_ condition: String) throws -> TestService {
        let text = smallest(
            #"limits: {vend: {requests: 1000, whenRedisIsAway: "open"}}"#,
            vending: #"scopes: {narrow: {template: "narrow.json"}}"#)
        return try TestService(file: (text, ["/etc/cloakroom/narrow.json": Self.template(condition)]))
    }

    @LoopActor private func vend(_ service: TestService, from address: String? = nil) async throws -> String {
        await service.ask(
            "POST", "/api/v1/auth/sts-token", token: try service.token(), body: #"{"scope":"narrow"}"#)
    }

    @Test @LoopActor func `fill in the address and the time, and are never kept`() async throws {
        let service = try service("\(Self.here), \(Self.soon)")
        for number in 1...2 {
            let answer = try await vend(service)
            #expect(answer.hasPrefix("200\n"), "\(answer)")
            #expect(answer.contains("2027-01-15T08:05:00Z"), "none later than the window")
            #expect(service.transport.requests.count == number)
        }
        let form = String(decoding: try #require(service.transport.requests.last).body, as: UTF8.self)
        let policy = try #require(form.removingPercentEncoding)
        #expect(policy.contains(#""aws:SourceIp":"192.0.2.1""#))
        #expect(policy.contains(#""aws:CurrentTime":"2027-01-15T08:05:00Z""#))
        #expect(form.contains("&DurationSeconds=3600&"))
    }

    @Test @LoopActor func `are not joined by requests of the same time`() async throws {
        let service = try service(Self.here)
        async let first = vend(service)
        async let second = vend(service)
        _ = try await (first, second)
        #expect(service.transport.requests.count == 2)
    }

    @Test func `tell one address from others, and before from after`() throws {
        let user = try #require(UserID("u_1"))
        let time = Date(timeIntervalSince1970: 1_800_000_000)
        let policy = try Self.policy("\(Self.here), \(Self.soon)")
        let text = policy.text(for: user, in: RequestCircumstances(address: "203.0.113.7", time: time))
        let session = try IAMPolicy(try JSON(parsing: Array(text.utf8)))
        func allows(_ address: String, after seconds: Double) -> Bool {
            session.allows(
                IAMRequest(
                    "s3:GetObject", "arn:aws:s3:::b/photos/u_1/a",
                    context: [
                        "aws:SourceIp": [address], "aws:CurrentTime": [time.addingTimeInterval(seconds).wireText],
                    ]))
        }
        #expect(allows("203.0.113.7", after: 0) && allows("203.0.113.7", after: 299))
        #expect(!allows("203.0.113.7", after: 300) && !allows("203.0.113.8", after: 0))
        #expect(policy.window == 300 && policy.namesClientAddress && policy.differsByRequest)
    }

    @Test func `are shown by a simulation at another time and in another place`() throws {
        let scope = Scope(name: "narrow", policy: try Self.policy("\(Self.here), \(Self.soon)"))
        let rows = PolicySimulation(
            Grant(scope: scope, lifetime: .seconds(900), tier: "free"), user: try #require(UserID("u_1")), bucket: "b",
            partition: "aws", at: Date()
        ).rows.filter { $0.action == "s3:GetObject" && $0.target == "photos/u_1/a.jpg" }
        #expect(
            rows.map { "\($0.isAllowed) \($0.remark)" } == [
                "true own object", "false from another address", "false 300 s later",
            ])
    }

    @Test(arguments: [
        #""IpAddress": {"aws:SourceIp": ["203.0.113.0/24", "2001:db8::/32"]}"#,
        #""NotIpAddress": {"aws:SourceIp": "203.0.113.7"}"#,
        #""DateGreaterThan": {"aws:CurrentTime": "2027-01-01T00:00:00Z"}"#,
        #""Bool": {"aws:SecureTransport": "true"}"#,
        #""StringEquals": {"s3:x-amz-storage-class": "STANDARD_IA"}"#,
        #""StringEquals": {"s3:x-amz-server-side-encryption": "aws:kms"}"#,
        here, soon, #""DateLessThanEquals": {"aws:CurrentTime": "${now+43200s}"}"#,
    ])
    func `stand beside conditions that narrow`(condition: String) throws { _ = try Self.policy(condition) }

    @Test(arguments: [
        (#""NotIpAddress": {"aws:SourceIp": "${clientAddress}"}"#, "has ${"),
        (#""IpAddress": {"aws:VpcSourceIp": "${clientAddress}"}"#, "has ${"),
        (#""IpAddress": {"aws:SourceIp": "${clientAddress}/24"}"#, "has ${"),
        (#""IpAddress": {"aws:SourceIp": "10.0.0"}"#, "has 10.0.0 at"),
        (#""StringLike": {"aws:SourceIp": "${clientAddress}"}"#, "has ${"),
        (#""DateGreaterThan": {"aws:CurrentTime": "${now+300s}"}"#, "has ${"),
        (#""DateLessThan": {"aws:TokenIssueTime": "${now+300s}"}"#, "has ${"),
        (#""DateLessThan": {"aws:CurrentTime": "${now+59s}"}"#, "has ${"),
        (#""DateLessThan": {"aws:CurrentTime": "${now+43201s}"}"#, "has ${"),
        (#""DateLessThan": {"aws:CurrentTime": "${now-300s}"}"#, "has ${"),
        (#""DateLessThan": {"aws:CurrentTime": "tomorrow"}"#, "has tomorrow at"),
        (#""StringEquals": {"aws:username": "${user}"}"#, "reaches"),
    ])
    func `are refused where they would not narrow`(condition: String, why: String) {
        let error = #expect(throws: SessionPolicyError.self) { try Self.policy(condition) }
        #expect(error?.description.contains(why) == true, "\(String(describing: error))")
    }

    /// IAM allows what fits any value of a key.
    @Test(arguments: [
        (#""IpAddress": {"aws:SourceIp": ["${clientAddress}", "0.0.0.0/0"]}"#, "${clientAddress}"),
        (#""IpAddress": {"aws:SourceIp": ["203.0.113.0/24", "${clientAddress}"]}"#, "${clientAddress}"),
        (#""DateLessThan": {"aws:CurrentTime": ["${now+900s}", "${now+3600s}"]}"#, "${now+900s}"),
        (#""DateLessThanEquals": {"aws:CurrentTime": ["2027-01-01T00:00:00Z", "${now+900s}"]}"#, "${now+900s}"),
    ])
    func `are refused beside other values of their key`(condition: String, placeholder: String) {
        let error = #expect(throws: SessionPolicyError.self) { try Self.policy(condition) }
        #expect(error?.description.contains("has \(placeholder) beside other values at") == true)
        #expect(error?.remedy == "give it alone: IAM allows what fits any value of a key")
    }

    @Test(arguments: [
        (#""IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "2001:db8::/32"]}"#, "from 10.0.0.0/8 or 2001:db8::/32"),
        (#""NotIpAddress": {"aws:SourceIp": ["192.0.2.7", "192.0.2.8"]}"#, "from anywhere but 192.0.2.7 and 192.0.2.8"),
        (
            #""DateLessThan": {"aws:CurrentTime": ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]}"#,
            "until 2027-01-01T00:00:00Z or 2028-01-01T00:00:00Z"
        ),
        (here, "from the address that asks for the credentials"),
    ])
    func `stand beside values that are told as IAM compares them`(condition: String, words: String) throws {
        let grant = Grant(
            scope: Scope(name: "narrow", policy: try Self.policy(condition)), lifetime: .seconds(900), tier: "free")
        let lines = PolicyDescription(grant, user: try #require(UserID("u_1"))).lines
        #expect(lines == ["read photos/u_1/ \(words)"])
    }

    @Test func `are refused on a store that does not know the time`() throws {
        let error = #expect(throws: SessionPolicyError.self) { try Self.policy(Self.soon, store: .seaweedfs) }
        #expect(error?.description.contains("SeaweedFS") == true)
        _ = try Self.policy(Self.here, store: .seaweedfs)
        _ = try Self.policy(Self.soon, store: .ceph)
    }

    @Test func `count at their longest in the size of a policy`() throws {
        let short = try Self.policy(#""IpAddress": {"aws:SourceIp": "10.0.0.0/8"}"#)
        #expect(try Self.policy(Self.here).packedPercent > short.packedPercent)
    }
}
