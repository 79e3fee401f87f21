import Testing

@testable import CloakroomMessages

/// How many messages are purged together.
@Suite struct BatchSizeTests {
    @Test(arguments: [
        ([], 256), ([10], 256), ([0], 384), ([1], 384), ([8], 320), ([20], 128), ([1000], 128), ([20, 20, 20], 64),
        ([0, 0, 0, 0, 0, 0], 2048), ([0, 0, 0, 0, 0, 0, 10, 12], 1706),
    ])
    func `as many as take ten milliseconds, by half as many more or less at a time`(milliseconds: [Int], count: Int) {
        var size = BatchSize()
        for duration in milliseconds { size.adapt(to: .milliseconds(duration)) }
        #expect(size.count == count)
    }
}
