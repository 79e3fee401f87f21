import Testing

@testable import CloakroomKit

struct FilePartLayoutTests {
    @Test(arguments: [
        (1, 10, 1, 10), (10, 10, 1, 10), (11, 10, 2, 10), (100_000, 10, 10_000, 10), (0, 10, 1, 10),
        (100_001, 10, 1, 1 << 20), (50 << 40, 5 << 20, 10_000, 5_243 << 20),
    ])
    func `cuts a file into no more parts than S3 takes`(bytes: Int64, preferred: Int, count: Int, size: Int) {
        let plan = FilePartLayout(byteCount: bytes, preferred: preferred)
        #expect(plan.count == count && plan.partSize == size)
        var place: Int64 = 0
        for number in 1...plan.count {
            #expect(plan.range(number).lowerBound == place)
            place = plan.range(number).upperBound
        }
        #expect(place == bytes)
    }
}
