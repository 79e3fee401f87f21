import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What a revocation makes of clocks, accounts and refusals.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RevocationTests {
    private let time = Date(timeIntervalSince1970: 1_800_000_000)
    private let user = UserID("u_1")

    /// By a clock that always shows the same.
    @LoopActor private func revocation(_ redis: FakeRedis = FakeRedis()) -> Revocation {
        let time = time
        return Revocation(
            records: UserRecords(redis: redis, keyPrefix: "c:", now: { time }), now: { time })
    }

    // MARK: Clocks

    /// Redis' `INFO server`, with a clock that is so many seconds ahead.
    private static func info(_ lead: Int) -> String {
        .redisText("# Server\r\nredis_version:7.0.15\r\nserver_time_usec:\((1_800_000_000 + lead) * 1_000_000)\r\n")
    }

    @Test(arguments: [(0, 0), (60, 60), (-60, 0)])
    @LoopActor func `goes by the later of two clocks that are no more than a minute apart`(lead: Int, counted: Int)
        async throws
    {
        let redis = FakeRedis([Self.info(lead)])
        let found = try await revocation(redis).currentTime(for: #require(user))
        #expect(found.time == time.addingTimeInterval(Double(counted)) && found.isCompared)
        #expect(redis.requests == [["INFO", "server"]])
    }

    @Test(arguments: [61, -61, 7200])
    @LoopActor func `changes nothing by clocks that are more than a minute apart`(lead: Int) async throws {
        let redis = FakeRedis([Self.info(lead)])
        let revocation = revocation(redis)
        let user = try #require(user)
        let theirs = time.addingTimeInterval(Double(lead))
        await #expect(throws: Revocation.RevocationError.clocks(own: time, redis: theirs)) {
            _ = try await revocation.currentTime(for: user)
        }
        #expect(redis.requests.count == 1)
    }

    @Test(arguments: ["-NOPERM no permissions to run the 'info' command\r\n", "$10\r\n# Server\r\n\r\n", ":1\r\n"])
    @LoopActor func `goes by this host's clock alone where Redis does not tell its time`(reply: String) async throws {
        let found = try await revocation(FakeRedis([reply])).currentTime(for: #require(user))
        #expect(found.time == time && !found.isCompared)
    }

    // MARK: Vending

    /// The record has a later revocation, and the rights end with the worker's.
    @Test @LoopActor func `is not stopped by credentials that cannot be dropped, and tells the time that holds`()
        async throws
    {
        let now = "1800000000"
        let redis = FakeRedis([
            .redisText("connected_slaves:0\r\n"), ":1\r\n",
            // In the order of the fields' names: acceptUndatedTokens, disabled, disabledReason, revokedBefore, updated.
            .redisArray([nil, "1", "revoked", "1800000100", now]),
            .redisArray([now, nil, nil, nil, nil, nil, "1", "1800000100", nil]),
            "-NOPERM no permissions to run the 'scan' command\r\n",
        ])
        let stop = try await revocation(redis).stopVending(to: #require(user), disables: true)
        #expect(stop.time == time.addingTimeInterval(100) && stop.replication == nil)
        #expect(stop.undropped == .redis(.refused(code: "NOPERM")))
        #expect(redis.requests.map { $0[0] } == ["INFO", "EVALSHA", "HMGET", "HMGET", "SCAN"])
    }

    /// The clock of the issuer is ahead by all of its leeway: one worker sees the token at once, another after its `iat`.
    @Test @LoopActor func `a token from before is refused by each worker, one whose issuer's clock is ahead as well`()
        async throws
    {
        let settings = try settings(smallest())
        let now = "1800000000"
        let redis = FakeRedis([
            .redisText("connected_slaves:0\r\n"), ":1\r\n",
            .redisArray([nil, "1", "revoked", "1800000035", now]),
            .redisArray([now, nil, nil, nil, nil, nil, "1", "1800000035", nil]),
            "*2\r\n" + .redisText("0") + .redisArray([]),
        ])
        let time = time
        let revocation = Revocation(
            records: UserRecords(redis: redis, keyPrefix: "c:", now: { time }),
            requestDeadline: settings.server.requestDeadline, leeway: settings.tokens.largestLeeway, now: { time })
        _ = try await revocation.stopVending(to: #require(user), disables: true, at: time.addingTimeInterval(5))
        let written = try #require(redis.requests.first { $0[0] == "EVALSHA" })
        let index = try #require(written.firstIndex(of: "revokedBefore"))
        var record = UserRecord()
        record.revokedBefore = Date(timeIntervalSince1970: try #require(Double(written[index + 1])))

        let issue = time.addingTimeInterval(30)
        let signIns = try [1.0, 31].map { try signIn(issuedAt: issue, seenAt: time.addingTimeInterval($0)) }
        #expect(signIns == [time.addingTimeInterval(1), issue])
        for signIn in signIns { #expect(record.revokes(signIn)) }
        #expect(!record.revokes(issue.addingTimeInterval(6)))
    }

    /// By what a worker compares a token, which it has not seen before.
    @LoopActor private func signIn(issuedAt issue: Date, seenAt instant: Date) throws -> Date {
        let key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)))
        let keys = KeySet(own: [.hmac(key)])
        let issuer = Issuer(
            name: "https://auth.example", audiences: ["cloakroom"], algorithms: [.hs256], keys: .fixed(keys))
        let authenticator = Authenticator(
            header: "X-Token", leeway: .seconds(30),
            issuers: [IdentityProvider(issuer, keys: IssuerKeys(fixed: keys))], now: { instant })
        let token = TokenSigner(issuer: issuer.name, audience: "cloakroom", key: key)
            .token(subject: "u_1", now: issue, lifetime: .seconds(3600))
        let request = Request(method: "POST", target: "/", fields: ["X-Token": token])
        guard case .subject(let subject) = authenticator.identify(request) else { throw IdentityRefusal.wrongUse }
        return try #require(subject.signIn)
    }

    // MARK: Accounts

    private static func identity(_ account: String, date: String? = nil) -> UpstreamResponse {
        let text =
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>\(account)</Account>"
            + "</GetCallerIdentityResult></GetCallerIdentityResponse>"
        let fields: HeaderFields = if let date { ["date": date] } else { [:] }
        return UpstreamResponse(status: 200, fields: fields, body: Array(text.utf8))
    }

    private static func sts(_ answer: UpstreamResponse) throws -> STSClient {
        STSClient(
            endpoint: try .sts(region: "eu-central-1"), transport: ScriptedTransport { _ in answer },
            credentials: credentials, retry: RetrySettings(maximumAttempts: 1, timeout: .seconds(5)),
            isolation: LoopActor.shared)
    }

    private static let credentials = CredentialSource(
        Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret")))

    private static func role(_ arn: String) throws -> SessionRole {
        SessionRole(
            name: "second", arn: arn, externalID: nil, profile: nil, sts: try .sts(region: "eu-central-1"))
    }

    @Test @LoopActor func `writes to no role of another account than that of the credentials`() async throws {
        let revocation = revocation()
        let role = try Self.role("arn:aws:iam::210987654321:role/app")
        let (own, other) = try (Self.sts(Self.identity("210987654321")), Self.sts(Self.identity("123456789012")))
        #expect(try await revocation.verify(role, sts: own, deadline: .now + .seconds(5)) == 0)
        await #expect(throws: Revocation.RevocationError.otherAccount("123456789012")) {
            _ = try await revocation.verify(role, sts: other, deadline: .now + .seconds(5))
        }
        // Ceph's roles have none.
        let unnamed = try Self.role("arn:aws:iam:::role/app")
        #expect(try await revocation.verify(unnamed, sts: other, deadline: .now + .seconds(5)) == 0)
    }

    @Test @LoopActor func `takes no role for one of ours while STS does not say whose the credentials are`()
        async throws
    {
        let revocation = revocation()
        let role = try Self.role("arn:aws:iam::210987654321:role/app")
        let sts = try Self.sts(.error(403, "AccessDenied"))
        let fault = AWSError(.refused, status: 403, code: "AccessDenied")
        await #expect(throws: Revocation.RevocationError.unknownAccount(fault)) {
            _ = try await revocation.verify(role, sts: sts, deadline: .now + .seconds(5))
        }
    }

    @Test(
        arguments: [
            ("Fri, 15 Jan 2027 08:10:00 GMT", 600), ("Fri, 15 Jan 2027 07:50:00 GMT", 0), ("never", 0),
        ] as [(String, TimeInterval)])
    @LoopActor func `tells by how much AWS' clock is ahead`(date: String, lead: TimeInterval) async throws {
        let sts = try Self.sts(Self.identity("210987654321", date: date))
        let role = try Self.role("arn:aws:iam::210987654321:role/app")
        #expect(try await revocation().verify(role, sts: sts, deadline: .now + .seconds(5)) == lead)
    }

    // MARK: A policy without room

    /// A policy that has as many users as it can, and no other room.
    private func fullPolicy() throws -> String {
        var policy = RevocationPolicy()
        var text = try policy.text()
        for number in 0..<1000 {
            policy.revoke(
                try #require(UserID("u_23ccd2f5-0000-5000-8000-\(100_000_000_000 + number)")), before: time)
            guard let more = try? policy.text() else { break }
            text = more
        }
        return text
    }

    private static func iam(_ transport: ScriptedTransport) throws -> IAMClient {
        IAMClient(
            endpoint: try .iam(region: "eu-central-1"), transport: transport, credentials: credentials,
            retry: RetrySettings(maximumAttempts: 1, timeout: .seconds(5)), isolation: LoopActor.shared)
    }

    @Test(arguments: [false, true])
    @LoopActor func `denies the sessions of all where a policy has no room, if it is told to`(deniesAll: Bool)
        async throws
    {
        let policy = PercentEncoding.encode(try fullPolicy())
        let transport = ScriptedTransport { request in
            let isPut = String(decoding: request.body, as: UTF8.self).hasPrefix("Action=Put")
            return .text(
                200,
                isPut
                    ? "<PutRolePolicyResponse/>"
                    : "<GetRolePolicyResponse><GetRolePolicyResult><PolicyDocument>\(policy)</PolicyDocument>"
                        + "</GetRolePolicyResult></GetRolePolicyResponse>")
        }
        let redis = FakeRedis(["+OK\r\n", ":1\r\n"])
        let revocation = revocation(redis)
        let iam = try Self.iam(transport)
        let user = try #require(UserID("u_23ccd2f5-0000-5000-8000-999999999999"))
        let later = time.addingTimeInterval(30)
        guard deniesAll else {
            await #expect(throws: Revocation.RevocationError.policy(.tooMany(145))) {
                _ = try await revocation.deny(
                    user, before: later, role: "app", iam: iam, deadline: .now + .seconds(5))
            }
            #expect(transport.requests.count == 1)
            return
        }
        let written = try await revocation.deny(
            user, before: later, role: "app", iam: iam, deniesAll: true, deadline: .now + .seconds(5)
        ).policy
        #expect(written.everyone == later && written.count == 0)
        let body = String(decoding: try #require(transport.requests.last).body, as: UTF8.self)
        #expect(body.contains("PutRolePolicy") && !body.contains("u_23ccd2f5"))
        #expect(redis.requests.map { $0[0] } == ["EVALSHA", "EVALSHA"])
    }

    // MARK: A role without room

    /// What is to be written; `nil` for a request that writes nothing.
    private static func document(in request: UpstreamRequest) -> String? {
        let form = String(decoding: request.body, as: UTF8.self)
        guard let name = form.firstRange(of: "PolicyDocument=") else { return nil }
        return form[name.upperBound...].removingPercentEncoding
    }

    /// An IAM with a policy of twenty users, each with a time of its own, and with as much room for it as the role's other
    /// inline policies leave.
    ///
    /// - Parameter written: the response to what there is room for.
    private func fullRole(
        room: Int, written: UpstreamResponse = .text(200, "<PutRolePolicyResponse/>")
    ) throws -> ScriptedTransport {
        var policy = RevocationPolicy()
        for number in 0..<20 {
            policy.revoke(try #require(UserID("u_\(number)")), before: time.addingTimeInterval(Double(number)))
        }
        let text = PercentEncoding.encode(try policy.text())
        return ScriptedTransport { request in
            guard let document = Self.document(in: request) else {
                return .text(
                    200,
                    "<GetRolePolicyResponse><GetRolePolicyResult><PolicyDocument>\(text)</PolicyDocument>"
                        + "</GetRolePolicyResult></GetRolePolicyResponse>")
            }
            return document.utf8.count <= room ? written : .error(409, "LimitExceeded")
        }
    }

    @Test(arguments: [(6000, false, 1), (6000, true, 1), (1000, false, 2), (1000, true, 2), (250, true, 3)])
    @LoopActor func `takes the longest form for which the role's other inline policies leave room`(
        room: Int, deniesAll: Bool, attempts: Int
    ) async throws {
        let transport = try fullRole(room: room)
        let user = try #require(UserID("u_new"))
        let later = time.addingTimeInterval(30)
        let denial = try await revocation(FakeRedis(["+OK\r\n", ":1\r\n"])).deny(
            user, before: later, role: "app", iam: Self.iam(transport), deniesAll: deniesAll,
            deadline: .now + .seconds(5))
        #expect(transport.requests.count == 1 + attempts)
        let request = try #require(transport.requests.last)
        let policy = try RevocationPolicy(parsing: #require(Self.document(in: request)))
        #expect(policy.count == (attempts == 3 ? 0 : 21))
        #expect(policy.everyone == (attempts == 3 ? later : nil))
        // Of one that shares a time, that of each is kept only here.
        #expect((policy == denial.policy) == (attempts != 2))
        #expect(denial.moved.count == (attempts == 2 ? 20 : 0) && !denial.moved.contains(user))
    }

    /// Of a policy that was written so the next run learns the shared time alone, as if it were each user's own.
    @Test(arguments: [(1000, false), (250, true)])
    @LoopActor func `tells of whom sessions may be denied where IAM's response is lost`(room: Int, deniesAll: Bool)
        async throws
    {
        let (user, later) = (try #require(UserID("u_new")), time.addingTimeInterval(30))
        func denial(_ written: UpstreamResponse) async throws -> Revocation.Denial? {
            let transport = try fullRole(room: room, written: written)
            let revocation = self.revocation(FakeRedis(["+OK\r\n", ":1\r\n"]))
            let iam = try Self.iam(transport)
            do throws(Revocation.RevocationError) {
                return try await revocation.deny(
                    user, before: later, role: "app", iam: iam, deniesAll: deniesAll, deadline: .now + .seconds(5))
            } catch {
                guard case .unconfirmed(let denial, _) = error else { return nil }
                return denial
            }
        }
        let lost = try #require(try await denial(.error(500, "ServiceFailure")))
        #expect(lost.policy.everyone == (deniesAll ? later : nil))
        #expect(lost.moved.count == (deniesAll ? 0 : 20) && !lost.moved.contains(user))
        #expect(try await denial(.text(200, "<PutRolePolicyResponse/>")) == lost)
        #expect(try await denial(.error(403, "AccessDenied")) == nil)
    }

    @Test(arguments: [(250, false, 2), (50, true, 3)])
    @LoopActor func `says that the role's inline policies are full`(room: Int, deniesAll: Bool, attempts: Int)
        async throws
    {
        let transport = try fullRole(room: room)
        let revocation = revocation(FakeRedis(["+OK\r\n", ":1\r\n"]))
        let (user, iam) = (try #require(UserID("u_new")), try Self.iam(transport))
        await #expect(throws: Revocation.RevocationError.noRoom(deniesAll: deniesAll)) {
            _ = try await revocation.deny(
                user, before: time, role: "app", iam: iam, deniesAll: deniesAll, deadline: .now + .seconds(5))
        }
        #expect(transport.requests.count == 1 + attempts)
    }
}
