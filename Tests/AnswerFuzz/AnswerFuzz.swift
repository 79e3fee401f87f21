import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomRedis
@testable import CloakroomOperations
@testable import CloakroomServer
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Feeds changed responses to the readers of this process, all of them to the same clients.
final class AnswerFuzz: Sendable {
    private let transport = FuzzTransport()
    private let s3: S3Client
    private let sts: STSClient
    private let iam: IAMClient
    /// Of STS.
    private let endpoint: Endpoint

    init() throws {
        let credentials = CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret")))
        s3 = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: transport,
            credentials: credentials, runtime: transport.runtime)
        endpoint = try .sts(region: "eu-west-1")
        sts = STSClient(
            endpoint: endpoint, transport: transport, credentials: credentials, runtime: transport.runtime)
        iam = IAMClient(
            endpoint: try .iam(region: "eu-west-1"), transport: transport, credentials: credentials,
            runtime: transport.runtime)
    }

    /// One case: one request whose responses are all changed, or one reply of Redis'.
    func run(_ generator: some RandomNumberGenerator & Sendable) async {
        var mutation = Mutation(generator)
        let kind = mutation.number(below: 20)
        if kind < 5 { return redis(&mutation) }
        let operation = mutation.number(below: 18)
        let others =
            switch kind {
            case 5, 6, 7: Templates.sts
            case 8: Templates.iam
            case 9: Templates.credentials
            case 10: Templates.issuer
            default: Templates.s3
            }
        transport.answersBadly(mutation, others)
        switch kind {
        case 5, 6, 7: await assumeRole()
        case 8: await policy()
        case 9: await ownCredentials(operation)
        case 10: await issuerKeys()
        default: await object(operation)
        }
    }

    /// Whether good responses are still read as what they are.
    func isAlive() async -> Bool {
        transport.answersWell()
        guard let address = ObjectAddress(key: "a"),
            case .renewed(.some) = await s3.renew(key: "a", deadline: transport.deadline).outcome
        else { return false }
        let terms = UploadTerms(contentType: "image/jpeg", lifetime: .seconds(900))
        guard let url = try? await s3.presignUpload(address, terms: terms).url.reveal(),
            url.contains("X-Amz-Date=20261120T140000Z")
        else { return false }
        let role = try? await sts.assumeRole(Self.role, deadline: transport.deadline)
        guard role?.credentials.accessKeyID == "ASIAIOSFODNN7EXAMPLE" else { return false }
        let reader = RedisReplyParser()
        guard Templates.redis[0].withUnsafeBytes({ reader.feed($0) }), case .reply = reader.next() else { return false }
        var cursor = reader.cursor
        return (try? RateLimitCount.read(&cursor, isSplit: false, hasQuantity: false).get()) != nil
    }

    private static let role = AssumeRole(
        roleARN: "arn:aws:iam::123456789012:role/vending", sessionName: "u_1", duration: .seconds(3600))

    private func assumeRole() async {
        let role = try? await sts.assumeRole(Self.role, deadline: transport.deadline)
        if let role { _ = (role.expiration.timeIntervalSince1970, Timestamp(role.expiration).iso8601) }
    }

    private func policy() async {
        guard let text = try? await iam.policy("p", ofRole: "r", deadline: transport.deadline),
            var policy = try? RevocationPolicy(parsing: text)
        else { return }
        policy.drop(at: transport.time, lifetime: .seconds(43_200))
        _ = try? policy.text()
    }

    /// As a worker gets its own: from the instance, the container's endpoint, or with a pod's token.
    private func ownCredentials(_ operation: Int) async {
        let providers: [ProviderName] = [.instance, .container, .webIdentity]
        let dependencies = CredentialChainDependencies(
            environment: AWSEnvironment([
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
                "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
            ]), readFile: { _ in Array("token".utf8) }, run: { _ in [] }, transport: transport, sts: endpoint,
            runtime: transport.runtime)
        let chain = CredentialChain(dependencies: dependencies, only: providers[operation % providers.count])
        let credentials = RefreshingCredentials(chain, runtime: transport.runtime)
        for _ in 0..<2 {
            let current = try? await credentials.current()
            if let end = current?.expiration { _ = Timestamp(end).iso8601 }
        }
    }

    private func issuerKeys() async {
        let fetcher = KeyFetcher(transport: transport, timeout: .seconds(1))
        guard let url = try? await fetcher.discover(issuer: "https://issuer.example") else { return }
        _ = try? await fetcher.keys(at: url).lifetime
    }

    private func object(_ operation: Int) async {
        guard let address = ObjectAddress(key: "a b/ü.bin") else { return }
        let deadline = transport.deadline
        switch operation {
        case 0, 1, 2, 3, 4: _ = await s3.renew(key: "a b/ü.bin", deadline: deadline)
        case 5:
            let stored = try? await s3.head(address, deadline: deadline)
            if let stored { _ = (stored.md5, stored.partsMD5, stored.isLocked(at: transport.time), stored.expiration) }
        case 6: _ = try? await s3.exists(address, deadline: deadline)
        case 7:
            let page = try? await s3.list(prefix: "", from: .start, deadline: deadline)
            _ = page?.entries.reduce(0) { $0 + ($1.size ?? 0) + Int($1.lastModified?.timeIntervalSince1970 ?? 0) % 2 }
        case 8: _ = try? await s3.parts(of: "u", address, deadline: deadline)
        case 9: _ = try? await s3.tags(of: address, deadline: deadline)
        case 10:
            for rule in (try? await s3.lifecycle(deadline: deadline))?.rules ?? [] {
                _ = (rule.filter, rule.expiration, rule.transitions, rule.unknown, rule.noncurrentExpiration)
            }
        case 11:
            _ = try? await s3.completeMultipartUpload(
                address, uploadID: "u", parts: [UploadedPart(number: 1, entityTag: "e", byteCount: 5)],
                deadline: deadline)
        case 12: _ = try? await s3.presence(deadline: deadline)
        case 13:
            let page = try? await s3.versions(prefix: "", from: nil, deadline: deadline)
            for entry in page?.entries ?? [] {
                _ = (entry.size ?? 0) + Int(entry.lastModified?.timeIntervalSince1970 ?? 0)
            }
            guard let next = page?.next else { return }
            _ = try? await s3.versions(prefix: "", from: next, deadline: deadline)
        case 14: _ = try? await s3.versioning(deadline: deadline)
        case 15: _ = try? await s3.owner(deadline: deadline)
        case 16: _ = try? await s3.owner(ofKey: "a+b", deadline: deadline)
        default:
            let transport = transport
            let transfer = Transfer(timeout: .seconds(1), deadline: deadline) {
                request, timeout async throws(AWSError) in
                do throws(TransportError) { return try await transport.send(request, timeout: timeout) } catch {
                    throw AWSError(.transient, code: "Interrupted")
                }
            }
            _ = try? await s3.get(address, range: { ObjectRange(first: 0, last: 4) }, by: transfer)
        }
    }

    /// In pieces, as a socket gives them.
    private func redis(_ mutation: inout Mutation) {
        let reader = RedisReplyParser()
        var bytes = mutation.changed(mutation.pick(Templates.redis))
        if mutation.number(below: 4) == 0 { bytes += mutation.changed(mutation.pick(Templates.redis)) }
        let cut = mutation.number(below: bytes.count)
        for piece in [bytes[..<cut], bytes[cut...]] where !piece.isEmpty {
            guard piece.withUnsafeBytes({ reader.feed($0) }) else { return }
            cursor: while reader.count < 2 {
                switch reader.next() {
                case .reply: continue
                case .incomplete: break cursor
                case .garbage: return
                }
            }
        }
        guard reader.count > 0 else { return }
        for isOther in [false, true] where !isOther || reader.count == 2 {
            for read in [
                { (cursor: inout RedisReplyCursor) in _ = RedisReply(&cursor) },
                { (cursor: inout RedisReplyCursor) in
                    _ = RateLimitCount.read(&cursor, isSplit: false, hasQuantity: false)
                },
                { (cursor: inout RedisReplyCursor) in _ = RateLimitCount.read(&cursor, isSplit: true, hasQuantity: true)
                },
                { (cursor: inout RedisReplyCursor) in _ = try? UserRecord.parse(&cursor) },
                { (cursor: inout RedisReplyCursor) in _ = cursor.refusal?.label },
            ] {
                var cursor = reader.cursor
                if isOther { cursor.goTo(reply: 1) }
                read(&cursor)
            }
        }
        reader.clear()
    }
}

/// Time that passes only in sleeps, and a store that answers as it should not.
private final class FuzzTransport: Transport {
    private struct State {
        /// `nil` for good responses.
        var mutation: Mutation?
        /// What may stand in for the response that is expected.
        var others: [UpstreamResponse] = []
        var elapsed = Duration.zero
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now
    /// 2026-11-20T14:00:00Z
    let time = Date(timeIntervalSince1970: 1_795_183_200)

    var deadline: ContinuousClock.Instant { start + state.withLock { $0.elapsed } + .seconds(15) }

    var runtime: RuntimeDependencies {
        RuntimeDependencies(
            wallClock: { self.time }, now: { self.start + self.state.withLock { $0.elapsed } },
            sleep: { duration in self.state.withLock { $0.elapsed += duration } }, randomNumber: { .max })
    }

    func answersBadly(_ mutation: Mutation, _ others: [UpstreamResponse]) {
        state.withLock { state in
            state.mutation = mutation
            state.others = others
        }
    }

    /// From now on, as a store does. What was learned of it before may need more than one request.
    func answersWell() { state.withLock { $0.mutation = nil } }

    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        state.withLock { state in
            // No request is free, or a store could keep one busy for ever.
            state.elapsed += .milliseconds(5)
            guard var mutation = state.mutation else { return Templates.good(request) }
            defer { state.mutation = mutation }
            // Mostly what fits the request, so that what comes after it is reached too.
            let isExpected = mutation.number(below: 8) > 0
            let response = mutation.pick(isExpected ? Templates.expected(request) ?? state.others : state.others)
            return mutation.number(below: 2) == 0 ? response : mutation.changed(response)
        }
    }
}
