import CloakroomAWS
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct LifecycleFindingsTests {
    @Test func `says of the rules what lifecycle verify says`() throws {
        let terms = LifecycleTerms(try settings(smallest("uploads: {keyPrefix: 'assets/'}")))
        let bare = LifecycleReview(LifecycleConfiguration(), .never, terms)
        let lines = LifecycleFindings.all(bare, terms).lines
        #expect(lines == bare.findings.map { "\($0.severity.rawValue): \($0.text)" })
        #expect(lines.first == "error: no rule expires every object under assets/: what is not renewed stays for ever")
        let good = LifecycleReview(LifecycleConfiguration(rules: terms.rules(.never)), .never, terms)
        #expect(LifecycleFindings.all(good, terms).lines == ["ok: what is not renewed expires after 30 days"])
    }

    @Test func `is content with no rule where nothing is to expire`() throws {
        let terms = LifecycleTerms(
            try settings(smallest("uploads: {keyPrefix: 'assets/'}, renewal: {retentionDays: null}")))
        let good = LifecycleReview(LifecycleConfiguration(rules: terms.rules(.never)), .never, terms)
        #expect(
            LifecycleFindings.all(good, terms).lines == [
                "ok: nothing expires, renewed or not (renewal.retentionDays is null)"
            ])
    }

    @Test func `does not call wrong what it may not see`() {
        let terms = LifecycleTerms(retentionDays: 30)
        let denied = AWSError(.refused, status: 403, code: "AccessDenied")
        #expect(
            [LifecycleFindings.unread(denied, terms)].lines == [
                "skipped: the bucket's lifecycle may not be read: AccessDenied (403)"
            ])
        #expect(LifecycleFindings.unread(AWSError(.transient, code: "Timeout"), terms).level == .error)
    }
}
