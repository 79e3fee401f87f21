@testable import CloakroomRedis
import Testing

struct SentinelVotesTests {
    private static let former = RedisAddress.internet(host: "10.0.0.1", port: 6379)
    private static let latter = RedisAddress.internet(host: "10.0.0.2", port: 6379)

    private func votes(_ sentinels: Int, _ votes: [(RedisAddress, Int)], failures: [RedisError] = []) -> SentinelVotes {
        var result = SentinelVotes(sentinels: sentinels)
        for (master, epoch) in votes { result.add(.success(SentinelVote(master: master, epoch: epoch))) }
        for failure in failures { result.add(.failure(failure)) }
        return result
    }

    @Test func `one sentinel that is behind does not win against two`() {
        let votes = votes(3, [(Self.former, 9), (Self.latter, 2), (Self.latter, 2)])
        #expect(votes.master == Self.latter && votes.agree(on: Self.latter) && !votes.agree(on: Self.former))
    }

    @Test func `of two that do not agree the one of the later failover counts, but is no majority`() {
        let votes = votes(3, [(Self.former, 1), (Self.latter, 2)])
        #expect(votes.master == Self.latter && !votes.agree(on: Self.latter))
    }

    @Test func `nothing is decided between two of the same failover`() {
        #expect(votes(3, [(Self.former, 1), (Self.latter, 1)]).master == nil)
    }

    @Test func `needs no more than a majority, or all there are`() {
        #expect(!votes(5, [(Self.former, 1), (Self.former, 1)]).isDecided)
        #expect(votes(5, [(Self.former, 1), (Self.former, 1), (Self.former, 1)]).isDecided)
        #expect(!votes(3, [(Self.former, 1)], failures: [.timeout]).isDecided)
        #expect(votes(3, [(Self.former, 1)], failures: [.timeout, .unavailable]).isDecided)
    }

    @Test func `tells what a sentinel says rather than that another is silent`() {
        let votes = votes(3, [], failures: [.unavailable, .noMaster, .timeout])
        #expect(votes.failure == .refused(code: "NOMASTER"))
        #expect(SentinelVotes(sentinels: 3).failure == .unavailable)
    }

    @Test func `reads which replica an elected sentinel promotes`() throws {
        let text = "slave 10.0.0.2:6379 10.0.0.2 6379 @ main 10.0.0.1 6379"
        let promotion = try #require(RedisSentinels.Promotion(text, master: "main"))
        #expect(promotion.promoted == Self.latter && promotion.former == Self.former)
        #expect(RedisSentinels.Promotion(text, master: "other") == nil)
        #expect(RedisSentinels.Promotion("main 10.0.0.1 6379 10.0.0.2 6379", master: "main") == nil)
    }
}
