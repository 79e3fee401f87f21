import CloakroomAWS
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomWire

/// Asks nginx as browsers do for web pages, and reads the bucket's rules for them.
@LoopActor
struct BrowserCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let bucket = await bucket()
        let web = dependencies.settings.web
        return BrowserFindings(BrowserObservations(nginx: await nginx(web), bucket: bucket), web).all
    }

    private func bucket() async -> Result<CORSConfiguration, BrowserObservations.BucketError> {
        do throws(CredentialChainError) { _ = try await dependencies.requireCredentials() } catch {
            return .failure(.credentials(error))
        }
        do throws(AWSError) {
            return .success(try await dependencies.s3.cors(deadline: dependencies.deadline))
        } catch {
            return .failure(.s3(error))
        }
    }

    private func nginx(_ web: Settings.Web) async -> BrowserObservations.Nginx? {
        guard let visit = NginxVisit(dependencies.options) else { return nil }
        func preflight(_ origin: String) async -> BrowserObservations.Outcome {
            let fields: HeaderFields = ["Origin": origin, "Access-Control-Request-Method": "POST"]
            return await visit.send("OPTIONS", Route.renewBatch.rawValue, fields)
        }
        var preflights: [(origin: String, outcome: BrowserObservations.Outcome)] = []
        for origin in web.origins { preflights.append((origin, await preflight(origin))) }
        return .init(preflights: preflights, foreign: await preflight(BrowserObservations.foreignOrigin))
    }
}
