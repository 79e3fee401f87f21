import CloakroomAWS
import CloakroomHTTP
import CloakroomLoop
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The worker's own credentials: the chain of providers, in the real dependencies.
enum AWSCredentials {
    /// For a `credential_process`.
    private static let processTimeout: Duration = .seconds(10)
    private static let maximumBytes = 65_536

    static func chain(
        _ access: Settings.AWSAccess, transport: any Transport, runtime: RuntimeDependencies
    ) -> CredentialChain {
        if let keys = access.keys { return CredentialChain(providers: [SettingsProvider(keys)]) }
        let dependencies = CredentialChainDependencies(
            environment: access.environment, profile: access.profile, readFile: read, run: run, transport: transport,
            sts: access.sts, runtime: runtime, isolation: LoopActor.shared)
        return CredentialChain(dependencies: dependencies, only: access.provider)
    }

    /// Small files on a local disk, read at a refresh: every quarter of an hour at most, and not for a request.
    private static func read(_ path: String) -> [UInt8]? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init)
    }

    private static func run(_ words: [String]) async throws(CredentialProviderError) -> [UInt8] {
        do throws(ChildProcess.OutputError) {
            return try await ChildProcess.output(of: words, limit: maximumBytes, timeout: processTimeout)
        } catch {
            switch error {
            case .notStarted(let why): throw .failed("credential_process \(words[0]): \(why)")
            case .tooMuch: throw .failed("credential_process \(words[0]) wrote more than \(maximumBytes) bytes")
            case .timeout: throw .failed("credential_process \(words[0]) took longer than \(processTimeout)")
            case .ended(let end): throw .failed("credential_process \(words[0]) \(end)")
            }
        }
    }
}

/// For commands that send no request.
struct OfflineTransport: Transport {
    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        throw .unreachable
    }
}
