import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct RenewalPropertyTests {
    /// What a server knows of its objects.
    private actor FakeServer {
        private var generator: SeededGenerator
        private let time: @Sendable () -> Date
        private(set) var renewals: [String: [Date]] = [:]

        init(seed: UInt64, time: @escaping @Sendable () -> Date) {
            generator = SeededGenerator(seed: seed)
            self.time = time
        }

        func respond(_ keys: [String]) throws -> [RenewalResult] {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: throw CloakroomError(.cancelled, "the process ends")
            case 1: throw CloakroomError(.unavailable, "S3", status: 503, retryAfter: .seconds(3_600))
            case 2: throw CloakroomError(.unreachable, "nobody")
            case 3: throw CloakroomError(.tooManyRequests, "slow", status: 429, retryAfter: .seconds(600))
            default: break
            }
            var answers: [RenewalResult] = []
            for key in keys {
                switch Int.random(in: 0..<12, using: &generator) {
                case 0: answers.append(RenewalResult(key: key, outcome: .failed(reason: "internal_error")))
                case 1: answers.append(RenewalResult(key: key, outcome: .notFound))
                case 2: answers.append(RenewalResult(key: key, outcome: .refused(reason: "archived")))
                case 3: break
                default:
                    renewals[key, default: []].append(time())
                    answers.append(RenewalResult(key: key, outcome: .renewed(expiration: time() + 30 * 86_400)))
                }
            }
            return answers.shuffled(using: &generator)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `only what was called renewed is recorded so, and nothing is renewed before its time`(seed: UInt64)
        async throws
    {
        var app = RenewalFixture()
        app.settings.batchSize = 3
        let fake = app.fake
        let server = FakeServer(seed: seed, time: { fake.wallTime })
        await app.renewer.respond { try await server.respond($0) }
        var dice = SeededGenerator(seed: seed &+ 1_000)
        let assets = images(20)
        for _ in 0..<150 {
            let manager = try app.manager(assets.shuffled(using: &dice))
            async let one = manager.renewIfNeeded()
            async let other = manager.renewIfNeeded()
            _ = await (one, other)
            let truth = await server.renewals
            for record in try await app.records() {
                #expect(record.lastRenewed == truth[record.key]?.last, "\(record.key)")
            }
            app.fake.pass(.seconds(Double.random(in: 60...(2 * 86_400), using: &dice)))
        }
        let renewals = await server.renewals
        #expect(renewals.count == 20)
        for dates in renewals.values {
            for (earlier, later) in zip(dates, dates.dropFirst()) {
                #expect(later.timeIntervalSince(earlier) >= 15 * 86_400)
            }
        }
        #expect(await app.renewer.mostInFlight == 1)
    }
}
