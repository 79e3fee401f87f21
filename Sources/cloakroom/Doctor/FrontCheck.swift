import CloakroomWire
import Curl
import HTTPValues
import Loop
import Service

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks nginx what an app would never ask; no request has a token, so nothing is done for any.
@LoopActor
struct FrontCheck {
    private let world: DoctorWorld

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        guard var url = world.options.url else {
            return [CheckName.front.skipped("nginx was not asked", advice: "say with --url where it listens")]
        }
        while url.hasSuffix("/") { url.removeLast() }
        var options = CurlTransport.Options()
        options.certificateAuthorities = world.options.certificateAuthorities
        options.readsCertificates = true
        let transport = CurlTransport(options: options)
        func ask(
            _ method: String, _ path: String, _ fields: HeaderFields = [:], body: [UInt8] = []
        ) async -> FrontAnswers.Answer {
            do throws(TransportError) {
                return .success(
                    try await transport.send(
                        UpstreamRequest(method: method, url: url + path, fields: fields, body: body),
                        timeout: .seconds(5)))
            } catch {
                return .failure(error)
            }
        }
        let limit = world.settings.server.maximumBodyBytes
        let (batch, json): (String, HeaderFields) = (Route.renewBatch.rawValue, ["Content-Type": "application/json"])
        let answers = FrontAnswers(
            url: url, unknown: await ask("GET", "/cloakroom-doctor"), wrongMethod: await ask("GET", batch),
            largest: await ask("POST", batch, json, body: [UInt8](repeating: 0x20, count: limit)),
            tooLarge: await ask("POST", batch, json, body: [UInt8](repeating: 0x20, count: limit + 1)),
            metrics: await ask("GET", Route.metrics.rawValue),
            disguisedMetrics: await ask("GET", Route.metrics.rawValue, ["X-Forwarded-For": "127.0.0.1"]),
            certificateEnd: transport.certificateEnd.flatMap(FrontAnswers.date(openSSL:)))
        return FrontFindings(answers, world.settings, now: Date()).all
    }
}
