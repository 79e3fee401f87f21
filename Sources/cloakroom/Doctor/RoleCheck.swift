import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Requests a session of STS as a worker does, and after a refusal a lesser one, to find the cause.
@LoopActor
struct RoleCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let vending = dependencies.settings.vending
        let lifetime = dependencies.settings.longestLifetime
        let now = Date()
        let grant = Grant(scope: vending.scope, lifetime: lifetime, tier: vending.defaultTier)
        let request = AssumeRole(grant, for: .doctor, vending, at: now)
        var answers = RoleObservations(asked: await assumeRole(request))
        if case .failure(.refused) = answers.asked {
            answers.message = dependencies.transport.last.flatMap { AWSErrorResponse($0.body)?.message }
            var plain = request
            plain.tags = []
            answers.worksWithoutTags = await works(plain)
            var short = request
            short.duration = .seconds(900)
            answers.worksForFifteenMinutes = await works(short)
        }
        let isChained = dependencies.credentials.maximumSessionDuration != nil
        return RoleFindings(answers, vending, lifetime: lifetime, isChained: isChained, now: now).all
    }

    private func assumeRole(_ request: AssumeRole) async -> Result<AssumedRole, STSError> {
        do throws(STSError) {
            return .success(try await dependencies.sts.assumeRole(request, deadline: dependencies.deadline))
        } catch {
            return .failure(error)
        }
    }

    private func works(_ request: AssumeRole) async -> Bool {
        if case .success = await assumeRole(request) { true } else { false }
    }
}
