import CloakroomAWS
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends unsigned requests to STS and S3: who responds, and what time it is there.
@LoopActor
struct EndpointsCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let aws = dependencies.settings.aws
        var findings: [Finding] = []
        for (name, endpoint) in [("STS", aws.sts), ("S3", aws.s3)] {
            findings += EndpointFindings.all(await answer(name, endpoint), tokens: dependencies.settings.tokens)
        }
        return findings
    }

    private func answer(_ name: String, _ endpoint: Endpoint) async -> EndpointObservation {
        let request = UpstreamRequest(method: "GET", url: endpoint.url + "/")
        let sent = Date()
        let result: Result<UpstreamResponse, TransportError>
        do throws(TransportError) {
            result = .success(try await dependencies.transport.send(request, timeout: .seconds(5)))
        } catch {
            result = .failure(error)
        }
        return EndpointObservation(name: name, url: endpoint.url, result: result, sent: sent, received: Date())
    }
}
