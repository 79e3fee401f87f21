import CloakroomCrypto
package import CloakroomHTTP

/// AWS Identity and Access Management, as far as a revocation needs it: a role's inline policies.
package actor IAMClient {
    private nonisolated let isolation: any Actor
    private let upstream: AWSServiceClient

    package nonisolated var unownedExecutor: UnownedSerialExecutor { isolation.unownedExecutor }

    /// - Parameter isolation: the actor on whose executor the client runs; `nil` for one of its own.
    package init(
        endpoint: Endpoint, transport: any Transport, credentials: CredentialSource, retry: RetrySettings = .init(),
        runtime: RuntimeDependencies = .init(), isolation: (any Actor)? = nil
    ) {
        self.isolation = isolation ?? DefaultIsolation()
        upstream = AWSServiceClient(
            .init(
                service: .iam, endpoint: endpoint, transport: transport, credentials: credentials, retry: retry,
                runtime: runtime, onAttempt: { _ in }))
    }

    /// - Returns: the policy's JSON; `nil` when the role has no inline policy of this name.
    package func policy(
        _ name: String, ofRole role: String, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> String? {
        var counts = AttemptCounts()
        return try await call(
            "GetRolePolicy", [("RoleName", role), ("PolicyName", name)], deadline, &counts
        ) { response throws(AWSError) in
            let error = AWSErrorResponse(response.body)
            // The code stands for the role as well; only writing tells which.
            if response.status == 404, error?.code == "NoSuchEntity" { return nil }
            guard response.status == 200, let root = try? XMLReader.read(response.body),
                let encoded = root["GetRolePolicyResult"]?.text(of: "PolicyDocument"),
                let text = PercentEncoding.decodeText(encoded.utf8)
            else { throw AWSError(response, error: error) }
            return text
        }
    }

    /// Puts the policy in place of the one of the same name, if there is one.
    package func put(
        _ document: String, as name: String, ofRole role: String, deadline: ContinuousClock.Instant
    ) async throws(AWSError) {
        var counts = AttemptCounts()
        try await put(document, as: name, ofRole: role, deadline: deadline, counts: &counts)
    }

    /// The same, for a caller that has to know what may have been carried out: ``AttemptCounts/mayHaveActed(before:)``.
    package func put(
        _ document: String, as name: String, ofRole role: String, deadline: ContinuousClock.Instant,
        counts: inout AttemptCounts
    ) async throws(AWSError) {
        try await call(
            "PutRolePolicy", [("RoleName", role), ("PolicyName", name), ("PolicyDocument", document)], deadline, &counts
        ) { response throws(AWSError) in
            guard response.status == 200, let root = try? XMLReader.read(response.body),
                root.name == "PutRolePolicyResponse"
            else { throw AWSError(response, error: AWSErrorResponse(response.body)) }
        }
    }

    private func call<Value: Sendable>(
        _ action: String, _ parameters: [(name: String, value: String)],
        _ deadline: ContinuousClock.Instant, _ counts: inout AttemptCounts,
        decode: (UpstreamResponse) throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        let form = Array(
            (["Action=\(action)&Version=2010-05-08"]
                + parameters.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }).joined(separator: "&").utf8)
        let message = SigV4.Message(
            method: "POST", path: "\(upstream.endpoint.path)/",
            fields: [
                "content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": upstream.endpoint.host,
            ],
            payloadHash: SHA256.hash(form).hexadecimal)
        return try await upstream.call(
            message, body: form, deadline: deadline, counts: &counts, decode: decode)
    }
}

extension Endpoint {
    /// The one endpoint of IAM in the partition of a region.
    ///
    /// Source: botocore 1.44.5, `data/iam/2010-05-08/endpoint-rule-set-1.json`.
    /// - Parameter custom: a URL to use instead of AWS's own.
    package static func iam(region: String, custom: String? = nil) throws(EndpointError) -> Endpoint {
        guard isDNSLabel(region[...]) else { throw .invalidRegion }
        let partition = Partition(region: region)
        // IAM of China signs for Beijing, all others for the partition's usual region.
        let signingRegion = partition.identifier == "aws-cn" ? "cn-north-1" : partition.globalRegion
        if let custom { return try Endpoint(url: custom, signingRegion: signingRegion) }
        switch partition.identifier {
        case "aws": return Endpoint(host: "iam.\(partition.suffix)", signingRegion: signingRegion)
        case "aws-us-gov": return Endpoint(host: "iam.us-gov.\(partition.suffix)", signingRegion: signingRegion)
        default: return Endpoint(host: "iam.\(signingRegion).\(partition.suffix)", signingRegion: signingRegion)
        }
    }
}
