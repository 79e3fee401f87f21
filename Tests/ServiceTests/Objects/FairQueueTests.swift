import Testing

@testable import CloakroomServer

struct FairQueueTests {
    /// Parties with so many things each; who has none left does not come back.
    private func order(_ parties: [(String, Int)], late: (String, Int), at turn: Int) -> [String] {
        var left = Dictionary(uniqueKeysWithValues: parties + [late])
        var turns = FairQueue<String>()
        for (name, _) in parties { turns.join(name) }
        var order: [String] = []
        while true {
            if order.count == turn { turns.join(late.0) }
            guard let name = turns.next() else { return order }
            order.append(name)
            left[name, default: 0] -= 1
            if left[name] ?? 0 > 0 { turns.rejoin(name) }
        }
    }

    @Test func `serves all in turn, and who has just come after two at most`() {
        let order = order([("a", 4), ("b", 4), ("c", 4)], late: ("late", 2), at: 5)
        #expect(order.count == 14)
        let first = order.firstIndex(of: "late")
        #expect(first.map { (5...7).contains($0) } == true)
        for name in ["a", "b", "c"] { #expect(order[..<9].count { $0 == name } >= 2) }
    }

    @Test(arguments: [3, 100, 1000])
    func `leaves every other turn to those who wait, however many come`(count: Int) {
        var turns = FairQueue<Int>()
        turns.join(-1)
        _ = turns.next()
        turns.rejoin(-1)
        var waited = 0
        for number in 0..<count {
            turns.join(number)
            if turns.next() == -1 {
                waited = 0
                turns.rejoin(-1)
            } else {
                waited += 1
            }
            #expect(waited <= 1)
        }
        var rest = 0
        while turns.next() != nil { rest += 1 }
        #expect(turns.isEmpty && rest >= 1)
    }
}
