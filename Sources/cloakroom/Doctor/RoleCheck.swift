import AWS
import Loop
import Service

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks STS for a session as a worker does, and after a refusal for less, to tell what it was about.
@LoopActor
struct RoleCheck {
    private let world: DoctorWorld

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        let vending = world.settings.vending
        guard let user = UserID("cloakroom-doctor-1") else { return [] }
        let lifetime = ([vending.lifetime] + world.settings.tiers.values.map(\.lifetime)).max() ?? vending.lifetime
        let request = Self.request(vending, vending.scope, user, lifetime)
        let now = Date()
        var answers = RoleAnswers(asked: await ask(request))
        if case .failure(.refused) = answers.asked {
            answers.message = world.transport.last.flatMap { ErrorAnswer($0.body)?.message }
            var plain = request
            plain.tags = []
            answers.worksWithoutTags = await works(plain)
            var short = request
            short.duration = .seconds(900)
            answers.worksForFifteenMinutes = await works(short)
        }
        let isChained = world.credentials.maximumSessionDuration != nil
        return RoleFindings(answers, vending, lifetime: lifetime, isChained: isChained, now: now).all
    }

    /// As a worker asks for this user.
    static func request(
        _ vending: Settings.Vending, _ scope: Scope, _ user: UserID, _ lifetime: Duration
    ) -> AssumeRole {
        AssumeRole(
            roleARN: vending.roleARN, sessionName: SessionName.make(userID: user.text, at: Date()), duration: lifetime,
            policy: scope.policy.asked(for: user),
            tags: Grant(scope: scope, lifetime: lifetime, tier: vending.defaultTier).tags(for: user),
            externalID: vending.externalID)
    }

    private func ask(_ request: AssumeRole) async -> Result<AssumedRole, STSError> {
        do throws(STSError) {
            return .success(try await world.sts.assumeRole(request, deadline: world.deadline))
        } catch {
            return .failure(error)
        }
    }

    private func works(_ request: AssumeRole) async -> Bool {
        if case .success = await ask(request) { true } else { false }
    }
}
