import CloakroomCurl
import CloakroomLoop
import CloakroomServer

/// Fetches every issuer's keys, as a worker does.
@LoopActor
struct KeysCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = dependencies.settings.tokens.certificateAuthorities
        options.maximumResponseBytes = KeyFetcher.maximumBytes
        let fetcher = KeyFetcher(transport: LoopCurlTransport(options: options), timeout: .seconds(5))
        var findings: [Finding] = []
        for issuer in dependencies.settings.tokens.issuers { findings += await KeySetFindings(issuer).all(by: fetcher) }
        return findings
    }
}
