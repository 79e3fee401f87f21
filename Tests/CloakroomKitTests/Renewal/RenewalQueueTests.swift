import Testing

@testable import CloakroomKit

@Suite struct RenewalQueueTests {
    private func queue(_ failures: [Int], batchSize: Int = 100) -> RenewalQueue {
        RenewalQueue(
            failures.enumerated().map { (AssetKey("\($0.offset)"), $0.element) }, batchSize: batchSize)
    }

    private func sizes(_ queue: RenewalQueue, growing: Bool) -> [Int] {
        var queue = queue
        var sizes: [Int] = []
        while let batch = queue.next() {
            sizes.append(batch.count)
            if growing { queue.grow() }
        }
        return sizes
    }

    @Test(arguments: [
        (0, []), (1, [1]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50]),
    ])
    func `keys go out in batches of 100`(count: Int, sizes expected: [Int]) {
        let queue = queue(Array(repeating: 0, count: count))
        #expect(sizes(queue, growing: true) == expected)
        #expect(queue.batchCount == expected.count)
        #expect(queue.count == count)
    }

    @Test(arguments: [
        (1, [100, 50], [100, 50]),
        (2, [25, 50, 75], [25, 25, 25, 25, 25, 25]),
        (3, [6, 12, 24, 48, 60], Array(repeating: 6, count: 25)),
        (4, [1, 2, 4, 8, 16, 32, 64, 23], Array(repeating: 1, count: 150)),
        (1_000, [1, 2, 4, 8, 16, 32, 64, 23], Array(repeating: 1, count: 150)),
    ])
    func `the more often their batches failed, the smaller they are, until one succeeds`(
        failures: Int, growing: [Int], failing: [Int]
    ) {
        let queue = queue(Array(repeating: failures, count: 150))
        #expect(sizes(queue, growing: true) == growing)
        #expect(sizes(queue, growing: false) == failing)
        #expect(queue.batchCount == growing.count)
    }

    @Test func `keys of failed batches go last, and not with others`() {
        var queue = queue([4, 0, 4, 1, 0], batchSize: 100)
        var batches: [[String]] = []
        while let batch = queue.next() { batches.append(batch.map(\.text)) }
        #expect(batches == [["1", "4"], ["3"], ["0"], ["2"]])
    }

    @Test(arguments: [(-1, [1, 1, 1]), (0, [1, 1, 1]), (2, [2, 1]), (1_000, [3])])
    func `a batch has 1 to 100 keys, whatever is set`(batchSize: Int, sizes expected: [Int]) {
        #expect(sizes(queue([0, 0, 0], batchSize: batchSize), growing: true) == expected)
        #expect(sizes(queue(Array(repeating: 0, count: 101), batchSize: 1_000), growing: true) == [100, 1])
    }
}
