import CloakroomHTTP

/// The role of an EC2 instance, from its metadata service, version 2; version 1, which needs no token, is not used.
///
/// In a container the response has one hop more to go: the instance's `HttpPutResponseHopLimit` must be 2 then, or the
/// token never arrives.
/// Source: EC2 User Guide, "Use the Instance Metadata Service"; AWS SDKs and Tools Reference Guide, "IMDS credential
/// provider".
struct InstanceProvider: AWSCredentialProvider {
    let dependencies: CredentialChainDependencies
    var name: ProviderName { .instance }

    /// For one attempt, of which there is one: who is not on EC2 should not wait to learn that.
    private static let timeout: Duration = .seconds(1)
    private static let folder = "/latest/meta-data/iam/security-credentials/"

    func expectedOrigin() throws(CredentialProviderError) -> String {
        _ = try origin()
        return "instance, if this is one"
    }

    func credentials() async throws(CredentialProviderError) -> ProvidedCredentials {
        let origin = try origin()
        let token = try await token(at: origin)
        let names = try await get(Self.folder, at: origin, token)
        let role =
            String(decoding: names, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        guard (1...128).contains(role.utf8.count), role.utf8.allSatisfy(isVisible) else {
            throw .notConfigured("the instance has no role")
        }
        let document = try await get(Self.folder + PercentEncoding.encode(role), at: origin, token)
        let object = try CredentialDocument.object(document)
        guard object["Code"]?.string ?? "Success" == "Success" else {
            throw .failed("the instance's metadata service has no credentials for its role \(role)")
        }
        let credentials = try CredentialDocument.credentials(in: object, tokenName: "Token", requiresExpiration: true)
        return ProvidedCredentials(credentials, origin: "instance, role \(role)", isUsableAfterExpiration: true)
    }

    private func origin() throws(CredentialProviderError) -> String {
        let environment = dependencies.environment
        guard !environment.isTrue("AWS_EC2_METADATA_DISABLED") else {
            throw .notConfigured("AWS_EC2_METADATA_DISABLED is true")
        }
        if let url = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] {
            do throws(EndpointError) {
                return try Endpoint(url: url, signingRegion: "").url
            } catch {
                throw .failed("AWS_EC2_METADATA_SERVICE_ENDPOINT is no URL")
            }
        }
        let usesIPv6 = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6"
        return usesIPv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254"
    }

    private func token(at origin: String) async throws(CredentialProviderError) -> String {
        let request = UpstreamRequest(
            method: "PUT", url: "\(origin)/latest/api/token",
            fields: ["x-aws-ec2-metadata-token-ttl-seconds": "21600"])
        let response = try await send(request)
        let token = String(decoding: response.body, as: UTF8.self).trimmed
        guard response.status == 200, (1...1024).contains(token.utf8.count),
            token.utf8.allSatisfy(isVisible)
        else {
            throw .notConfigured(
                "the instance's metadata service gives no token (\(response.status)); version 2 is needed")
        }
        return token
    }

    private func get(_ path: String, at origin: String, _ token: String) async throws(CredentialProviderError)
        -> [UInt8]
    {
        let response = try await send(
            UpstreamRequest(method: "GET", url: origin + path, fields: ["x-aws-ec2-metadata-token": token]))
        switch response.status {
        case 200: return response.body
        case 404: throw .notConfigured("the instance has no role")
        default: throw .failed("the instance's metadata service responds with \(response.status)")
        }
    }

    private func send(_ request: UpstreamRequest) async throws(CredentialProviderError) -> UpstreamResponse {
        do throws(TransportError) {
            return try await dependencies.transport.send(request, timeout: Self.timeout)
        } catch {
            throw .notConfigured("no metadata service of an instance responds (\(error))")
        }
    }
}
