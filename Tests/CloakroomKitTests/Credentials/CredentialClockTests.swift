import AWS
import Foundation
import Testing

@testable import CloakroomKit

/// A device whose clock is wrong, and is set while it runs.
@Suite struct CredentialClockTests {
    private let world = TestWorld()

    /// A server whose clock is right: it tells its time with each answer and vends for an hour.
    private func provider(wrongBy error: Duration) -> (CloakroomKit.CredentialProvider, ScriptedVendor) {
        let start = world.wallTime
        world.setWallClock(ahead: error)
        let clock = ServerClock(surroundings: world.surroundings)
        let vendor = ScriptedVendor { [world] number in
            let now = start.addingTimeInterval(world.elapsed.seconds)
            await clock.learn(
                from: HTTPAnswer(status: 200, fields: [("Date", Timestamp(now).http)]), sent: world.now)
            return .numbered(number, until: now.addingTimeInterval(3600))
        }
        let provider = CredentialProvider(vendor: vendor, serverClock: clock, surroundings: world.surroundings)
        return (provider, vendor)
    }

    @Test(arguments: [-86_400, -7200, -240, 0, 240, 7200, 86_400])
    func `a wrong clock changes nothing`(error: Int) async throws {
        let (provider, vendor) = provider(wrongBy: .seconds(error))
        for second in [0, 1790, 1810, 1820] {
            world.pass(.seconds(second) - world.elapsed)
            #expect(try await provider.credentials().accessKeyID == (second < 1820 ? "ASIA0" : "ASIA1"))
            await world.settle()
        }
        #expect(await vendor.requests == 2)
        #expect(abs(await provider.clockOffset.seconds + Double(error)) <= 1)
    }

    @Test func `a clock that is set ahead costs one request, and one that is set back none`() async throws {
        let (provider, vendor) = provider(wrongBy: .zero)
        _ = try await provider.credentials()
        for (error, requests) in [(86_400, 2), (86_400, 2), (0, 2), (-86_400, 2), (-86_400, 2)] {
            world.pass(.seconds(2))
            world.setWallClock(ahead: .seconds(error))
            for _ in 0..<10 { _ = try await provider.credentials() }
            await world.settle()
            #expect(await vendor.requests == requests)
        }
    }

    @Test func `a clock that is set ahead does not take valid ones away while the server is away`() async throws {
        let vendor = ScriptedVendor { [world] number in
            guard number == 0 else { throw CloakroomError.away }
            return .numbered(number, until: world.time(in: .seconds(3600)))
        }
        let provider = CredentialProvider(vendor: vendor, surroundings: world.surroundings)
        _ = try await provider.credentials()
        world.setWallClock(ahead: .seconds(86_400))
        world.pass(.seconds(3599))
        #expect(try await provider.credentials().accessKeyID == "ASIA0")
        world.pass(.seconds(1))
        await #expect(throws: CloakroomError.away) { try await provider.credentials() }
    }

    @Test func `what S3 says of the time corrects the judgement of what is held`() async throws {
        // Two hours slow, and no answer has told: these look as if they had three hours to live.
        let truth = world.wallTime
        world.setWallClock(ahead: .seconds(-7200))
        let vendor = ScriptedVendor { number in .numbered(number, until: truth.addingTimeInterval(3600)) }
        let provider = CredentialProvider(vendor: vendor, surroundings: world.surroundings)
        let refusal = S3Refusal(status: 403, code: "RequestTimeTooSkewed", date: Timestamp(truth).http)
        var offsets: [Duration] = []
        let key = try await provider.withCredentials { credentials in
            offsets.append(await provider.clockOffset)
            if offsets.count == 1 { throw refusal }
            return credentials.accessKeyID
        }
        #expect(key == "ASIA0")
        #expect(offsets == [.zero, .seconds(7200)])
        world.pass(.seconds(1799))
        _ = try await provider.credentials()
        await world.settle()
        #expect(await vendor.requests == 1)
        world.pass(.seconds(1))
        _ = try await provider.credentials()
        await world.settle()
        #expect(await vendor.requests == 2)
    }
}
