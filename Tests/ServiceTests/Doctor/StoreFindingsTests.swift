import CloakroomAWS
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct StoreFindingsTests {
    private static let sound = StoreObservations.Written(
        presignedCondition: .honoured, condition: .honoured, checksum: .honoured, unsignedCopy: .honoured,
        ownersAgree: .success(true))

    private static func lines(
        _ store: ObjectStore?, expected: ObjectStore = .aws, _ written: StoreObservations.Written? = sound
    ) -> [String] {
        StoreFindings(StoreObservations(store: store, written: written), expected: expected).all.lines
    }

    @Test func `has nothing to say against S3`() {
        #expect(
            Self.lines(.aws) == [
                "ok: the store is Amazon S3, as vending.store says",
                "ok: a presigned upload leaves an object alone that is there already",
                "ok: a PUT with If-None-Match leaves an object alone that is there already",
                "ok: a presigned upload of other bytes than announced is refused",
                "ok: a presigned upload copies no other object",
                "ok: what the worker writes belongs to the bucket's owner",
            ])
    }

    @Test func `tells which store it is, and when the settings say another`() {
        for (store, expected, line) in [
            (.ceph, .ceph, "ok: the store is Ceph's RADOS Gateway, as vending.store says"),
            (.ceph, .aws, "error: the store is Ceph's RADOS Gateway, but vending.store is \"aws\""),
            (.seaweedfs, .aws, "warning: the store is SeaweedFS, but vending.store is \"aws\""),
            (.aws, .ceph, "warning: the store is Amazon S3, but vending.store is \"ceph\""),
            (nil, .ceph, "skipped: the store does not tell what it is; vending.store is \"ceph\""),
        ] as [(ObjectStore?, ObjectStore, String)] {
            #expect(Self.lines(store, expected: expected, nil) == [line])
        }
    }

    @Test func `names what does not hold`() {
        let written = StoreObservations.Written(
            presignedCondition: Enforcement(status: 200, refusal: 412),
            condition: Enforcement(status: 204, refusal: 412),
            checksum: Enforcement(status: 200, refusal: 400), unsignedCopy: Enforcement(status: 200, refusal: 403),
            ownersAgree: .success(false))
        #expect(
            Self.lines(.ceph, expected: .ceph, written).dropFirst() == [
                "warning: a presigned upload overwrites an object that is there already: If-None-Match in its query is "
                    + "ignored",
                "warning: a PUT overwrites an object that is there already: If-None-Match is ignored",
                "warning: a presigned upload of other bytes than announced is stored: its SHA-256 is ignored",
                "error: a presigned upload copies every object that the worker may read: header fields that are not signed are "
                    + "heeded",
                "warning: what the worker writes belongs to the worker, not to the bucket's owner",
            ])
    }

    @Test func `advises a setting against unsigned fields only where it is another one`() {
        var written = Self.sound
        written.unsignedCopy = .ignored
        for (expected, advice) in [(ObjectStore.aws, "set vending.store"), (.ceph, "use another store")] {
            let all = StoreFindings(StoreObservations(store: .ceph, written: written), expected: expected).all
            #expect(
                all.first { $0.found.hasPrefix("a presigned upload copies every") }?.advice?.hasPrefix(advice) == true)
        }
    }

    @Test func `says what cannot be told`() {
        #expect(
            Enforcement(status: 412, refusal: 412) == .honoured
                && Enforcement(status: 500, refusal: 412) == .unclear("status 500"))
        let written = StoreObservations.Written(
            presignedCondition: .unclear("status 500"), condition: .honoured, checksum: .honoured,
            unsignedCopy: .honoured, ownersAgree: .failure(AWSError(.refused, status: 403, code: "AccessDenied")))
        let lines = Self.lines(.aws, written)
        #expect(
            lines[1]
                == "skipped: whether a presigned upload leaves an object alone that is there already cannot be told: "
                + "status 500")
        #expect(lines.last == "skipped: whose the worker's objects are cannot be told: AccessDenied (403)")
    }
}
