import HTTPValues

/// Assumes roles for the worker itself: with credentials it has, or with a token of an identity provider.
struct RoleProvider {
    let world: CredentialWorld

    /// For all tries together.
    private static let patience: Duration = .seconds(10)
    private static let retry = RetrySettings(maximumAttempts: 3, timeout: .seconds(5))

    struct Role: Sendable {
        var arn: String
        var sessionName: String?
        var externalID: String?
        var duration: Duration = .seconds(3600)
    }

    func assume(_ role: Role, with source: Credentials) async throws(ProviderFault) -> Credentials {
        let client = STSClient(
            endpoint: world.sts, transport: world.transport, credentials: CredentialSource(source), retry: Self.retry,
            surroundings: world.surroundings, place: world.place)
        let request = AssumeRole(
            roleARN: role.arn, sessionName: role.sessionName ?? sessionName, duration: role.duration,
            externalID: role.externalID)
        do throws(STSError) {
            return try await client.assumeRole(request, deadline: world.surroundings.now() + Self.patience).credentials
        } catch {
            throw .failed("AssumeRole of \(role.arn): \(Self.words(error))")
        }
    }

    /// - Parameter token: read before each try: an expired one may have been replaced.
    func assume(
        _ role: Role, withTokenFrom token: () throws(ProviderFault) -> String
    ) async throws(ProviderFault) -> Credentials {
        var effort = Effort()
        let retrier = Retrier(settings: Self.retry, surroundings: world.surroundings)
        var unreadable: ProviderFault?
        do throws(Fault) {
            let assumed = try await retrier.run(
                until: world.surroundings.now() + Self.patience, quota: RetryQuota(), effort: &effort
            ) { (_: Int, timeout: Duration) async throws(Fault) -> AssumedRole in
                let text: String
                do throws(ProviderFault) { text = try token() } catch {
                    unreadable = error
                    throw Fault(.noCredentials, code: "NoToken")
                }
                let request = AssumeRoleWithWebIdentity(
                    roleARN: role.arn, sessionName: role.sessionName ?? sessionName, token: text)
                return try await send(request, timeout: timeout)
            }
            return assumed.credentials
        } catch {
            throw unreadable
                ?? .failed("AssumeRoleWithWebIdentity of \(role.arn): \(error.code) \(error.status)")
        }
    }

    private func send(_ request: AssumeRoleWithWebIdentity, timeout: Duration) async throws(Fault) -> AssumedRole {
        let message = UpstreamRequest(
            method: "POST", url: "\(world.sts.url)/",
            fields: ["content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": world.sts.host],
            body: request.form)
        let response: UpstreamResponse
        do throws(TransportError) {
            response = try await world.transport.send(message, timeout: timeout)
        } catch {
            throw Fault(error)
        }
        guard response.status == 200 else { throw Fault(response, error: ErrorAnswer(response.body)) }
        return try AssumedRole(
            response, of: "AssumeRoleWithWebIdentity", now: world.surroundings.wallClock())
    }

    private var sessionName: String {
        "cloakroom-\(Timestamp(world.surroundings.wallClock()).secondsSince1970)"
    }

    private static func words(_ error: STSError) -> String {
        switch error {
        case .unavailable(_, let code), .unusable(let code): code
        case .refused(let status, let code): "\(code) \(status)"
        case .cancelled: "cancelled"
        }
    }
}
