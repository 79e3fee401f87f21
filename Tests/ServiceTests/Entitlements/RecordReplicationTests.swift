import CloakroomRedis
import Testing

@testable import CloakroomServer

/// What is told of a change that is several calls.
struct RecordReplicationTests {
    private typealias Pair = (RecordReplication, RecordReplication)

    @Test func `of several calls one that has to be made again counts before those that lack more`() {
        let noRights = RecordReplication.unknown(.refused(code: "NOPERM"))
        let pairs: [Pair] = [
            (.replicas(reached: 0, of: 1), .replicas(reached: 1, of: 3)),
            (.replicas(reached: 0, of: 1), noRights),
            (.noReplicas, noRights),
            (.unknown(.timeout), noRights),
            (.replicas(reached: 0, of: 2), .noReplicas),
            (.noReplicas, .replicas(reached: 1, of: 3)),
            (.replicas(reached: 1, of: 3), .replicas(reached: 1, of: 2)),
            (noRights, .replicas(reached: 1, of: 2)),
        ]
        for (worse, better) in pairs {
            #expect(RecordReplication.leastReplicated(worse, better) == worse)
            #expect(RecordReplication.leastReplicated(better, worse) == worse)
        }
        #expect(RecordReplication.leastReplicated(nil, .noReplicas) == .noReplicas)
    }

    @Test func `without replicas none takes the place of a master`() {
        #expect(RecordReplication.replicas(reached: 0, of: 1).mayBeUndone)
        #expect(RecordReplication.unknown(.interrupted).mayBeUndone)
        for other: RecordReplication in [
            .noReplicas, .replicas(reached: 1, of: 2), .unknown(.refused(code: "NOPERM")),
        ] {
            #expect(!other.mayBeUndone)
        }
    }
}
