import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Vends for two invented users, and tries to reach the objects of one with the credentials of the other: as they are, and with
/// what the other shares.
@LoopActor
struct ScopesCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let plan = ScopePlan(dependencies.settings, name: dependencies.name)
        var findings: [Finding] = []
        for name in dependencies.settings.vending.scopes.names {
            guard let scope = dependencies.settings.vending.scopes[name] else { continue }
            do throws(STSError) {
                findings += try await self.findings(scope, plan)
            } catch {
                findings.append(ScopeFindings.notVended(name, error))
                // Whatever it is, it will be the same for the others.
                break
            }
            findings += await dependencies.tidyUp()
        }
        if dependencies.settings.vending.sharing, let (grant, probe) = plan.share(at: Date()) {
            do throws(STSError) {
                let client = try await vended(grant, plan.user)
                let outcome = ProbeOutcome(await fault(probe.operation, as: client))
                findings.append(ScopeFindings.shared(grant.scope.name, probe, outcome))
            } catch {
                findings.append(ScopeFindings.notVended(grant.scope.name, error))
            }
        }
        return findings
    }

    private func findings(_ scope: Scope, _ plan: ScopePlan) async throws(STSError) -> [Finding] {
        let client = try await vended(scope, plan.user)
        let keeper = dependencies.options.isReadOnly ? nil : plan.keeper(for: scope)
        if let keeper {
            for user in [plan.user, plan.neighbour] {
                let owner = try await vended(keeper, user)
                for folder in plan.folders(scope) {
                    if let fault = await put(plan.seed(of: user, in: folder), as: owner) {
                        return [ScopeFindings.notSeeded(keeper.name, fault)]
                    }
                }
            }
        }
        var outcomes: [(probe: ScopeProbe, outcome: ProbeOutcome)] = []
        for probe in plan.probes(scope, writes: keeper != nil) {
            outcomes.append((probe, ProbeOutcome(await fault(probe.operation, as: client))))
        }
        return ScopeFindings.all(scope.name, outcomes, wrote: keeper != nil)
    }

    private func vended(_ scope: Scope, _ user: UserID) async throws(STSError) -> S3Client {
        let tier = dependencies.settings.vending.defaultTier
        return try await vended(Grant(scope: scope, lifetime: .seconds(900), tier: tier), user)
    }

    private func vended(_ grant: Grant, _ user: UserID) async throws(STSError) -> S3Client {
        let role = try await dependencies.sts.assumeRole(
            AssumeRole(grant, for: user, dependencies.settings.vending.roles.main, at: Date()),
            deadline: dependencies.deadline)
        return dependencies.s3(as: CredentialSource(role.credentials))
    }

    private func put(_ key: String, as client: S3Client) async -> AWSError? {
        dependencies.willWrite(key, as: client)
        return await fault(.put(key), as: client)
    }

    /// - Returns: `nil` when it worked.
    private func fault(_ operation: ScopeProbe.Operation, as client: S3Client) async -> AWSError? {
        let deadline = dependencies.deadline
        do throws(AWSError) {
            switch operation {
            case .get(let key):
                if let object = ObjectAddress(key: key) { _ = try await client.get(object, deadline: deadline) }
            case .put(let key):
                if let object = ObjectAddress(key: key) {
                    try await client.put(
                        object, body: Array("cloakroom doctor".utf8), contentType: "text/plain", deadline: deadline)
                }
            case .copy(let source, let destination):
                if let source = ObjectAddress(key: source), let destination = ObjectAddress(key: destination) {
                    try await client.copy(source, to: destination, deadline: deadline)
                }
            case .delete(let key):
                if let object = ObjectAddress(key: key) { try await client.delete(object, deadline: deadline) }
            case .list(let prefix):
                _ = try await client.list(prefix: prefix ?? "", from: .start, deadline: deadline)
            }
            return nil
        } catch {
            return error
        }
    }
}
