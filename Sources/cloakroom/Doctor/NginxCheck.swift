import CloakroomOperations
import CloakroomWire
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends nginx what an app would never send; no request has a token, so none has an effect.
@LoopActor
struct NginxCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        guard var url = dependencies.options.url else {
            return [CheckName.nginx.skipped("nginx was not checked", advice: "give its URL with --url")]
        }
        while url.hasSuffix("/") { url.removeLast() }
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = dependencies.options.certificateAuthorities
        options.readsCertificates = true
        let transport = LoopCurlTransport(options: options)
        func send(
            _ method: String, _ path: String, _ fields: HeaderFields = [:], body: [UInt8] = []
        ) async -> NginxObservations.Outcome {
            do throws(TransportError) {
                return .success(
                    try await transport.send(
                        UpstreamRequest(method: method, url: url + path, fields: fields, body: body),
                        timeout: .seconds(5)))
            } catch {
                return .failure(error)
            }
        }
        let limit = dependencies.settings.server.maximumBodyBytes
        let (batch, json): (String, HeaderFields) = (Route.renewBatch.rawValue, ["Content-Type": "application/json"])
        let answers = NginxObservations(
            url: url, unknown: await send("GET", "/cloakroom-doctor"), wrongMethod: await send("GET", batch),
            largest: await send("POST", batch, json, body: [UInt8](repeating: 0x20, count: limit)),
            tooLarge: await send("POST", batch, json, body: [UInt8](repeating: 0x20, count: limit + 1)),
            metrics: await send("GET", Route.metrics.rawValue),
            disguisedMetrics: await send("GET", Route.metrics.rawValue, ["X-Forwarded-For": "127.0.0.1"]),
            certificateEnd: transport.certificateEnd.flatMap(NginxObservations.date(openSSL:)))
        return NginxFindings(answers, dependencies.settings, now: Date()).all
    }
}
