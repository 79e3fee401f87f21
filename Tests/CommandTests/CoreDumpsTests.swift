import CloakroomCLinux
import Testing

@testable import CloakroomCommand

struct CoreDumpsTests {
    @Test func `no core file is written, and no debugger attaches`() {
        let before = (dumpable: cloakroom_is_dumpable(), limit: limit)
        defer { _ = cloakroom_set_dumpable(before.dumpable) }
        CoreDumps.refuse()
        #expect(cloakroom_is_dumpable() == 0)
        #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
    }

    private var limit: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        return limit
    }
}
