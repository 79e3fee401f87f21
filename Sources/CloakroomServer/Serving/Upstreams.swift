package import CloakroomAWS
package import CloakroomHTTP
package import CloakroomLoop

/// STS, S3 and IAM as the settings describe them, on one transport.
@LoopActor
package struct Upstreams {
    /// For the role of `vending.roleARN`.
    package let sts: STSClient
    package let roles: RoleClients
    package let s3: S3Client
    package let credentials: WorkerCredentials
    private let roleCredentials: [String: WorkerCredentials]
    private let settings: Settings
    private let bucket: String
    private let endpoint: Endpoint
    private let renewal: RenewalSettings
    private let transport: any Transport
    private let retry: RetrySettings
    private let runtime: RuntimeDependencies
    private let observe: @Sendable (Attempt) -> Void
    private static let probeTimeout: Duration = .seconds(3)

    /// - Parameters:
    ///   - bucket: with its endpoint; `nil` for that of the settings.
    ///   - renewal: `nil` for that of the settings.
    ///   - roleCredentials: by their profiles, those that call STS for roles of `vending.roles`.
    ///   - onAttempt: told of every attempt at STS and S3.
    package init(
        _ settings: Settings, bucket other: (name: String, endpoint: Endpoint)? = nil, renewal: RenewalSettings? = nil,
        transport: any Transport, credentials: WorkerCredentials, roleCredentials: [String: WorkerCredentials] = [:],
        runtime: RuntimeDependencies = .onLoop,
        onAttempt: @escaping @LoopActor @Sendable (Attempt) -> Void = { _ in }
    ) {
        self.settings = settings
        self.transport = transport
        self.credentials = credentials
        self.roleCredentials = roleCredentials
        self.runtime = runtime
        (bucket, endpoint) = other ?? (settings.bucket, settings.aws.s3)
        self.renewal = renewal ?? RenewalSettings(settings.renewal)
        retry = RetrySettings(maximumAttempts: settings.aws.maximumAttempts, timeout: settings.aws.timeout)
        observe = { attempt in LoopActor.assumeIsolated { onAttempt(attempt) } }
        let (retry, observe) = (retry, observe)
        let isAlone = settings.vending.roles.active.count == 1
        roles = RoleClients(settings.vending.roles) { role in
            let own = role.profile.flatMap { roleCredentials[$0] } ?? credentials
            let sts = STSClient(
                endpoint: role.sts, transport: transport, credentials: own.source, retry: retry, runtime: runtime,
                isolation: LoopActor.shared, onAttempt: observe)
            return RoleClient(role, credentials: own, sts: sts, isAlone: isAlone, now: runtime.now)
        }
        sts = roles.clients[0].sts
        s3 = S3Client(
            bucket: bucket, endpoint: endpoint, store: settings.vending.store, transport: transport,
            credentials: credentials.source, renewal: self.renewal, retry: retry, runtime: runtime,
            isolation: LoopActor.shared, onAttempt: observe)
    }

    /// The bucket as others reach it, or in another way; `nil` for what ``s3`` has.
    package func s3(
        as credentials: CredentialSource? = nil, endpoint: Endpoint? = nil, renewal: RenewalSettings? = nil
    ) -> S3Client {
        S3Client(
            bucket: bucket, endpoint: endpoint ?? self.endpoint, store: settings.vending.store, transport: transport,
            credentials: credentials ?? self.credentials.source, renewal: renewal ?? self.renewal, retry: retry,
            runtime: runtime, isolation: LoopActor.shared, onAttempt: observe)
    }

    /// For the command that revokes; a worker never uses it.
    ///
    /// - Parameter role: whose account is meant, by its profile.
    package func iam(of role: SessionRole) throws(EndpointError) -> IAMClient {
        IAMClient(
            endpoint: try .iam(region: settings.region, custom: settings.aws.iamEndpoint), transport: transport,
            credentials: credentials(of: role).source, retry: retry, runtime: runtime, isolation: LoopActor.shared)
    }

    /// STS as those credentials call it that ``iam(of:)`` has: it knows whose they are.
    package func sts(of role: SessionRole) -> STSClient {
        STSClient(
            endpoint: role.sts, transport: transport, credentials: credentials(of: role).source, retry: retry,
            runtime: runtime, isolation: LoopActor.shared)
    }

    /// The credentials that call AWS for a role.
    package func credentials(of role: SessionRole) -> WorkerCredentials {
        role.profile.flatMap { roleCredentials[$0] } ?? credentials
    }

    /// One page of a listing.
    package func page(_ prefix: String, _ position: S3Client.ListPosition) async -> Result<ObjectPage, AWSError> {
        do throws(AWSError) {
            return .success(try await s3.list(prefix: prefix, from: position, deadline: .now + .seconds(60)))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Readiness

    package var probes: [(name: String, probe: Readiness.Probe)] {
        let upstreams: [(name: String, probe: Readiness.Probe)] = [
            ("sts", { await probeSTS() }), ("s3", { await probeS3() }),
        ]
        guard credentials.refreshing != nil else { return upstreams }
        let own: Readiness.Probe = { [credentials] in await Self.probe(credentials) }
        return [("credentials", own)] + upstreams
    }

    /// Gets credentials when there are none yet, and anew when they are due.
    private static func probe(_ credentials: WorkerCredentials) async -> String? {
        do throws(CredentialChainError) {
            try await credentials.require()
            return nil
        } catch {
            return error.summary
        }
    }

    /// Whether STS's endpoint responds, with any status.
    private func probeSTS() async -> String? {
        do {
            _ = try await transport.send(
                UpstreamRequest(method: "GET", url: settings.aws.sts.url + "/"), timeout: Self.probeTimeout)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The key of no object: S3 says `NoSuchKey` only to those who may list, and only they learn what is gone. It is among
    /// what is renewed: the worker may have no right to read anything else.
    private func probeS3() async -> String? {
        guard let object = ObjectAddress(key: settings.renewal.keyPrefix + S3Client.missingObjectName) else {
            return nil
        }
        do {
            _ = try await s3.exists(object, deadline: .now + Self.probeTimeout)
            return nil
        } catch {
            return error.status == 403
                ? "S3 answers 403: is s3:ListBucket missing?" : "\(error.code) \(error.status)"
        }
    }
}
