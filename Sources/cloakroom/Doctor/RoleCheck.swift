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
        var findings: [Finding] = []
        for role in dependencies.roles { findings += await self.findings(role) }
        return findings
    }

    private func findings(_ client: RoleClient) async -> [Finding] {
        let vending = dependencies.settings.vending
        let lifetime = dependencies.settings.longestLifetime
        let now = Date()
        let grant = Grant(scope: vending.scope, lifetime: lifetime, tier: vending.defaultTier)
        var request = AssumeRole(grant, for: .doctor, client.role, at: now)
        let ordinaryTags = request.tags
        if vending.sharing { request.tags += SharedFolders.tags(of: [.doctor]) }
        var answers = RoleObservations(asked: await assumeRole(request, client))
        if case .failure(.refused) = answers.asked {
            answers.message = dependencies.transport.last.flatMap { AWSErrorResponse($0.body)?.message }
            if vending.sharing {
                var unshared = request
                unshared.tags = ordinaryTags
                answers.worksWithoutSharing = await works(unshared, client)
            }
            var plain = request
            plain.tags = []
            answers.worksWithoutTags = await works(plain, client)
            var short = request
            short.duration = .seconds(900)
            answers.worksForFifteenMinutes = await works(short, client)
        }
        let isChained = client.credentials.source.maximumSessionDuration != nil
        return RoleFindings(answers, client.role, lifetime: lifetime, isChained: isChained, now: now).all
    }

    private func assumeRole(_ request: AssumeRole, _ client: RoleClient) async -> Result<AssumedRole, STSError> {
        do throws(STSError) {
            return .success(try await client.sts.assumeRole(request, deadline: dependencies.deadline))
        } catch {
            return .failure(error)
        }
    }

    private func works(_ request: AssumeRole, _ client: RoleClient) async -> Bool {
        if case .success = await assumeRole(request, client) { true } else { false }
    }
}
