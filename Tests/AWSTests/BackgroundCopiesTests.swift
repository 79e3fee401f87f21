import Testing

@testable import CloakroomAWS

/// Copies that go on beside the requests that began them.
struct BackgroundCopiesTests {
    private let now = ContinuousClock.now

    @Test func `keeps 256 results and no more, each for a quarter of an hour, and tells it once`() throws {
        var copies = BackgroundCopies()
        func end(_ number: Int, after seconds: Int = 0) throws {
            copies.end(try object(number), .notFound, now: now + .seconds(seconds))
        }
        func told(_ number: Int, after seconds: Int = 0) throws -> Renewal.Outcome? {
            copies.outcome(of: try object(number), now: now + .seconds(seconds))
        }
        for number in 0...256 { try end(number) }
        #expect(try told(256) == nil)
        #expect(try told(0) == .notFound && told(0) == nil)
        // There is room for another one now.
        try end(257)
        #expect(try told(257, after: 899) == .notFound)
        #expect(try told(1, after: 900) == nil)
        // And for many, when the others are over.
        for number in 300...400 { try end(number, after: 900) }
        #expect(try told(400, after: 900) == .notFound)
    }

    private func object(_ number: Int) throws -> ObjectAddress { try #require(ObjectAddress(key: "\(number)")) }
}
