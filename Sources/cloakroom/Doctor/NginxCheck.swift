import CloakroomOperations
import CloakroomWire
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
        guard let visit = NginxVisit(dependencies.options) else {
            return [CheckName.nginx.skipped("nginx was not checked", advice: "give its URL with --url")]
        }
        func send(
            _ method: String, _ path: String, _ fields: HeaderFields = [:], body: [UInt8] = []
        ) async -> NginxObservations.Outcome {
            await visit.send(method, path, fields, body: body)
        }
        let limit = dependencies.settings.server.maximumBodyBytes
        let (batch, json): (String, HeaderFields) = (Route.renewBatch.rawValue, ["Content-Type": "application/json"])
        let answers = NginxObservations(
            url: visit.url, unknown: await send("GET", "/cloakroom-doctor"), wrongMethod: await send("GET", batch),
            largest: await send("POST", batch, json, body: [UInt8](repeating: 0x20, count: limit)),
            tooLarge: await send("POST", batch, json, body: [UInt8](repeating: 0x20, count: limit + 1)),
            metrics: await send("GET", Route.metrics.rawValue),
            disguisedMetrics: await send("GET", Route.metrics.rawValue, ["X-Forwarded-For": "127.0.0.1"]),
            health: await send("GET", Route.health.rawValue),
            // An address for documentation (RFC 5737): it is no client's.
            foreignHealth: await send("GET", Route.health.rawValue, ["X-Forwarded-For": "203.0.113.1"]),
            certificateEnd: visit.transport.certificateEnd.flatMap(NginxObservations.date(openSSL:)))
        return NginxFindings(answers, dependencies.settings, now: Date()).all
    }
}
