import CloakroomHTTP
import CloakroomJSON

/// The endpoint that ECS and EKS Pod Identity put beside a container.
///
/// Source: AWS SDKs and Tools Reference Guide, "Container credential provider".
struct ContainerProvider: AWSCredentialProvider {
    let dependencies: CredentialChainDependencies
    var name: ProviderName { .container }

    private static let timeout: Duration = .seconds(2)
    private static let attempts = 3
    /// Those of ECS and EKS; plain HTTP goes to them and to this very machine, never elsewhere.
    private static let plainHosts: Set<String> = [
        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "[::1]", "localhost",
    ]

    func expectedOrigin() throws(CredentialProviderError) -> String {
        _ = try url()
        return "container"
    }

    func credentials() async throws(CredentialProviderError) -> ProvidedCredentials {
        let url = try url()
        var fields: HeaderFields = ["accept": "application/json"]
        if let token = try authorization() { fields.add("authorization", token) }
        let response = try await response(to: UpstreamRequest(method: "GET", url: url, fields: fields))
        guard response.status == 200 else {
            throw .failed("the container's endpoint responds with \(Self.words(response))")
        }
        let object = try CredentialDocument.object(response.body)
        let credentials = try CredentialDocument.credentials(in: object, tokenName: "Token", requiresExpiration: true)
        return ProvidedCredentials(credentials, origin: "container")
    }

    private func url() throws(CredentialProviderError) -> String {
        let environment = dependencies.environment
        if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            guard path.hasPrefix("/"), Self.isSendable(path) else {
                throw .failed("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is no path")
            }
            return "http://169.254.170.2\(path)"
        }
        guard let url = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] else {
            throw .notConfigured(
                "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set")
        }
        let malformed = CredentialProviderError.failed("AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL of http or https")
        guard Self.isSendable(url), let (address, target) = url.originAndTarget else { throw malformed }
        let origin: Endpoint
        do throws(EndpointError) {
            origin = try Endpoint(url: address, signingRegion: "")
        } catch {
            throw malformed
        }
        guard origin.scheme == .https || Self.plainHosts.contains(origin.hostWithoutPort) || origin.isLoopback else {
            throw .failed(
                "AWS_CONTAINER_CREDENTIALS_FULL_URI names \(origin.host): without TLS only loopback, 169.254.170.2, "
                    + "169.254.170.23 and [fd00:ec2::23] are allowed")
        }
        return origin.url + target
    }

    /// The file counts more than the variable, and is read anew each time.
    private func authorization() throws(CredentialProviderError) -> String? {
        if let file = dependencies.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] {
            return try dependencies.token(file: file, of: "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
        }
        guard let token = dependencies.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] else { return nil }
        guard token.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw .failed("AWS_CONTAINER_AUTHORIZATION_TOKEN has characters that no header field may have")
        }
        return token
    }

    private func response(to request: UpstreamRequest) async throws(CredentialProviderError) -> UpstreamResponse {
        var attempt = 1
        while true {
            let isLast = attempt == Self.attempts
            do throws(TransportError) {
                let response = try await dependencies.transport.send(request, timeout: Self.timeout)
                if isLast || (response.status != 429 && response.status < 500) { return response }
            } catch {
                switch error {
                case .untrusted, .invalidRequest, .cancelled, .tooLarge, .notAllowedNow:
                    throw .failed("the container's endpoint: \(error)")
                case .unreachable, .timeout, .interrupted:
                    if isLast { throw .failed("the container's endpoint: \(error)") }
                }
            }
            do { try await dependencies.runtime.pause(.milliseconds(100 << attempt)) } catch {
                throw .failed("the container's endpoint: cancelled")
            }
            attempt += 1
        }
    }

    /// The status, and the code that ECS and EKS add to it.
    private static func words(_ response: UpstreamResponse) -> String {
        let code = (try? CredentialDocument.object(response.body))?["code"]?.string ?? ""
        let isWord = (1...64).contains(code.utf8.count) && code.utf8.allSatisfy(isLetterOrDigit)
        return isWord ? "\(response.status) \(code)" : "\(response.status)"
    }

    /// Whether it can be sent as it is: without spaces, control characters and a fragment.
    private static func isSendable(_ text: String) -> Bool {
        text.utf8.allSatisfy { isVisible($0) && $0 != UInt8(ascii: "#") }
    }
}
