import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct ScopeFindingsTests {
    private static func plan(_ vending: String = "prefixes: [\"photos\"]") throws -> (ScopePlan, Scopes) {
        let settings = try settings(smallest(vending: vending))
        return (ScopePlan(settings, name: "n"), settings.vending.scopes)
    }

    private static func words(_ probes: [ScopeProbe]) -> [String] {
        probes.map { "\($0.isExpected ? "yes" : "no ") \($0.words)" }
    }

    @Test func `expects of a scope what its policy says, and of a neighbour's folder nothing`() throws {
        let (plan, scopes) = try Self.plan()
        #expect(
            Self.words(plan.probes(try #require(scopes["read"]), writes: true)) == [
                "yes a list of photos/cloakroom-doctor-1/", "no  a list of photos/cloakroom-doctor-1",
                "no  a list of photos/cloakroom-doctor-10/",
                "no  a copy of photos/cloakroom-doctor-10/n to photos/cloakroom-doctor-1/n",
                "yes GET photos/cloakroom-doctor-1/n",
                "no  PUT photos/cloakroom-doctor-1/n", "no  DELETE photos/cloakroom-doctor-1/n",
                "no  GET photos/cloakroom-doctor-10/n", "no  PUT photos/cloakroom-doctor-10/n",
                "no  DELETE photos/cloakroom-doctor-10/n", "no  a list of everything",
            ])
        let full = plan.probes(try #require(scopes["full"]), writes: true)
        #expect(full.count { $0.isExpected } == 4)
    }

    @Test func `writes nothing without a scope that can take it away again`() throws {
        let (plan, scopes) = try Self.plan()
        let upload = try #require(scopes["upload"])
        #expect(plan.keeper(for: upload)?.name == "full")
        #expect(Self.words(plan.probes(upload, writes: false)).allSatisfy { $0.contains("a list of") })
    }

    @Test func `tells each answer that is not as it should be`() throws {
        let (plan, scopes) = try Self.plan()
        let probes = plan.probes(try #require(scopes["full"]), writes: true)
        let good = probes.map { (probe: $0, outcome: $0.isExpected ? ProbeOutcome.allowed : .refused) }
        #expect(
            ScopeFindings.all("full", good, wrote: true).lines == [
                "ok: full: 11 probes as they should be, 7 of them refused"
            ])
        // A store that heeds no session policy.
        let open = ScopeFindings.all("full", probes.map { (probe: $0, outcome: .allowed) }, wrote: true).lines
        #expect(
            open.first
                == "error: full: a list of photos/cloakroom-doctor-1 is allowed (the own folder and those that begin alike)"
        )
        #expect(open.count == 5)
        #expect(open.contains { $0.hasPrefix("error: full: a copy of photos/cloakroom-doctor-10/n ") })
        // A role without permissions of its own.
        let shut = ScopeFindings.all("full", probes.map { (probe: $0, outcome: .refused) }, wrote: true).lines
        #expect(shut.count == 4)
        #expect(shut.contains("error: full: GET photos/cloakroom-doctor-1/n is refused (own)"))
        let lost = ProbeOutcome(AWSError(.transient, code: "Timeout"))
        #expect(
            ScopeFindings.all("full", [(probe: probes[0], outcome: lost)], wrote: true).lines == [
                "warning: full: a list of photos/cloakroom-doctor-1/ gets Timeout"
            ])
    }

    @Test func `tries what another user shares with the first scope that lists it`() throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let (plan, _) = try Self.plan("prefixes: [\"photos\"], sharing: true")
        let (grant, probe) = try #require(plan.share(at: now))
        #expect(grant.scope.name == "full" && grant.shared.folders.map(\.owner) == [plan.neighbour])
        #expect(probe.words == "a list of photos/cloakroom-doctor-10/")
        #expect(
            [ProbeOutcome.allowed, .refused, .unclear("Timeout")].map { ScopeFindings.shared("full", probe, $0) }.lines
                == [
                    "ok: full: what another user shares can be listed",
                    "error: full: a list of photos/cloakroom-doctor-10/ is refused (shared by another user)",
                    "warning: full: a list of photos/cloakroom-doctor-10/ gets Timeout",
                ])
        #expect(ScopeFindings.shared("full", probe, .refused).advice?.contains("sharing-policy.json") == true)
    }

    @Test func `who is told that there is nothing was let through`() {
        #expect(ProbeOutcome(AWSError(.refused, status: 404, code: "NoSuchKey")) == .allowed)
        #expect(ProbeOutcome(AWSError(.refused, status: 404, code: "NoSuchUpload")) == .allowed)
        #expect(ProbeOutcome(AWSError(.refused, status: 403, code: "AccessDenied")) == .refused)
    }

    /// S3 says AccessDenied as well when KMS refuses.
    @Test func `tells of the keys where a session can store nothing`() {
        let finding = ScopeFindings.notSeeded("full", AWSError(.refused, status: 403, code: "AccessDenied"))
        #expect(finding.advice?.contains("vending.kmsKeyARNs") == true && finding.level == .error)
    }
}
