import Curl
import Loop
import Service

/// Fetches every issuer's keys, as a worker does.
@LoopActor
struct KeysCheck {
    private let world: DoctorWorld

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        var options = CurlTransport.Options()
        options.certificateAuthorities = world.settings.tokens.certificateAuthorities
        options.maximumResponseBytes = KeyFetcher.maximumBytes
        let fetcher = KeyFetcher(transport: CurlTransport(options: options), timeout: .seconds(5))
        var findings: [Finding] = []
        for issuer in world.settings.tokens.issuers { findings += await KeySetFindings(issuer).all(by: fetcher) }
        return findings
    }
}
