import CloakroomLoop
import Testing

@testable import CloakroomServer

struct AddressCrowdsTests {
    private let start: UInt64 = 600_000_000_000

    @Test func `finds an address with many users once in a period`() {
        var crowds = AddressCrowds()
        let found = (0..<500).map { crowds.note("u_\($0)", at: "203.0.113.7", now: start) }
        #expect(found.count { $0 } == 1)
        // Each sets a bit of its own at best, and about 24 are expected to set 20.
        #expect((19..<60).contains(found.firstIndex(of: true) ?? 0))
        let later = start + AddressCrowds.period.nanoseconds
        let foundLater = (0..<500).map { crowds.note("u_\($0)", at: "203.0.113.7", now: later) }
        #expect(foundLater.count { $0 } == 1)
    }

    @Test func `a user who returns is one user`() {
        var crowds = AddressCrowds()
        let found = (0..<500).map { _ in crowds.note("u_1", at: "203.0.113.7", now: start) }
        #expect(!found.contains(true))
    }

    @Test func `many addresses with a user each are no crowd`() {
        var crowds = AddressCrowds()
        let found = (0..<5000).map { crowds.note("u_\($0)", at: "2001:db8::\($0)", now: start) }
        #expect(!found.contains(true))
    }

    @Test func `others that share its slot do not hide a crowd`() {
        var crowds = AddressCrowds()
        var found = 0
        for number in 0..<5000 {
            if number.isMultiple(of: 10), crowds.note("u_\(number)", at: "203.0.113.7", now: start) { found += 1 }
            _ = crowds.note("v_\(number)", at: "2001:db8::\(number)", now: start)
        }
        #expect(found == 1)
    }
}
