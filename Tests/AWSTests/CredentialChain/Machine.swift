import CloakroomAWS
import Foundation
import CloakroomHTTP
import Synchronization

/// A machine that credentials may be found on: its environment, files, programs and what answers on its network.
final class Machine: Sendable {
    private struct State {
        var files: [String: String]
        var ran: [[String]] = []
        var read: [String] = []
    }

    private static let sts: Endpoint = {
        guard let endpoint = try? Endpoint.sts(region: "eu-central-1") else { preconditionFailure("it is a Region") }
        return endpoint
    }()

    let time = FakeRuntime()
    let transport: ScriptedTransport
    private let environment: [String: String]
    private let profile: String?
    private let output: Result<String, CredentialProviderError>
    private let state: Mutex<State>

    init(
        _ environment: [String: String] = [:], profile: String? = nil, files: [String: String] = [:],
        output: Result<String, CredentialProviderError> = .failure(.failed("no such program")),
        _ answers: [Result<UpstreamResponse, TransportError>] = [.failure(.unreachable)]
    ) {
        self.environment = environment
        self.profile = profile
        self.output = output
        transport = ScriptedTransport(answers)
        state = Mutex(State(files: files))
    }

    func write(_ file: String, _ text: String) { state.withLock { $0.files[file] = text } }
    var ran: [[String]] { state.withLock { $0.ran } }

    var dependencies: CredentialChainDependencies {
        CredentialChainDependencies(
            environment: AWSEnvironment(environment), profile: profile,
            readFile: { path in self.state.withLock { $0.files[path].map { Array($0.utf8) } } },
            run: { words throws(CredentialProviderError) in
                self.state.withLock { $0.ran.append(words) }
                return Array(try self.output.get().utf8)
            },
            transport: transport, sts: Self.sts, runtime: time.runtime)
    }

    func chain(only: ProviderName? = nil) -> CredentialChain { CredentialChain(dependencies: dependencies, only: only) }

    /// What the chain gives, once, or its reasons.
    func found(only: ProviderName? = nil) async -> Result<Credentials, CredentialChainError> {
        do throws(CredentialChainError) {
            return .success(
                try await RefreshingCredentials(chain(only: only), runtime: time.runtime).current())
        } catch {
            return .failure(error)
        }
    }

    /// The access key found, or the reasons in one line.
    func outcome(only: ProviderName? = nil) async -> String {
        switch await found(only: only) {
        case .success(let credentials): credentials.accessKeyID
        case .failure(let fault): fault.summary
        }
    }
}

/// Documents as the sources of credentials write them.
enum Documents {
    static let later = "2026-11-20T20:00:00Z"

    static func json(_ status: Int = 200, _ text: String) -> Result<UpstreamResponse, TransportError> {
        .success(UpstreamResponse(status: status, body: Array(text.utf8)))
    }

    static func container(_ id: String, expiration: String = later) -> String {
        """
        {"RoleArn":"arn:aws:iam::1:role/r","AccessKeyId":"\(id)","SecretAccessKey":"shh","Token":"tok",\
        "Expiration":"\(expiration)"}
        """
    }

    static func instance(_ id: String, expiration: String = later) -> String {
        """
        {"Code":"Success","LastUpdated":"2026-11-20T13:00:00Z","Type":"AWS-HMAC","AccessKeyId":"\(id)",\
        "SecretAccessKey":"shh","Token":"tok","Expiration":"\(expiration)"}
        """
    }

    static func process(_ id: String, version: Int = 1) -> String {
        #"{"Version":\#(version),"AccessKeyId":"\#(id)","SecretAccessKey":"shh","SessionToken":"tok","Expiration":"\#(later)"}"#
    }

    static func role(
        _ id: String, action: String = "AssumeRole", expiration: String = later
    ) -> Result<UpstreamResponse, TransportError> {
        .success(
            .xml(
                200,
                """
                <\(action)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><\(action)Result><Credentials>\
                <AccessKeyId>\(id)</AccessKeyId><SecretAccessKey>shh</SecretAccessKey><SessionToken>tok</SessionToken>\
                <Expiration>\(expiration)</Expiration></Credentials></\(action)Result></\(action)Response>
                """))
    }

    static func webIdentity(_ id: String) -> Result<UpstreamResponse, TransportError> {
        role(id, action: "AssumeRoleWithWebIdentity")
    }
}
