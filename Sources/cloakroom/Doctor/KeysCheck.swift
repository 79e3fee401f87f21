import CloakroomCurl
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Fetches every issuer's keys, as a worker does.
@LoopActor
struct KeysCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let transport = LoopCurlTransport(options: .issuers(dependencies.settings))
        let fetcher = KeyFetcher(transport: transport, timeout: .seconds(5))
        var findings: [Finding] = []
        for issuer in dependencies.settings.tokens.issuers { findings += await KeySetFindings(issuer).all(by: fetcher) }
        return findings
    }
}
