import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomKit

/// A device whose clock is wrong, and is set while it runs.
@Suite struct CredentialClockTests {
    private let fake = FakeRuntime()

    /// A server whose clock is right: it tells its time with each response and vends for an hour.
    private func provider(wrongBy error: Duration) -> (CloakroomKit.CredentialProvider, ScriptedVendor) {
        let start = fake.wallTime
        fake.setWallClock(ahead: error)
        let clock = ServerClock(runtime: fake.runtime)
        let vendor = ScriptedVendor { [fake] number in
            let now = start.addingTimeInterval(fake.elapsed / .seconds(1))
            await clock.learn(
                from: HTTPResponse(status: 200, fields: [("Date", Timestamp(now).http)]), sent: fake.now)
            return .numbered(number, until: now.addingTimeInterval(3600))
        }
        let provider = CredentialProvider(vendor: vendor, serverClock: clock, runtime: fake.runtime)
        return (provider, vendor)
    }

    @Test(arguments: [-86_400, -7200, -240, 0, 240, 7200, 86_400])
    func `a wrong clock changes nothing`(error: Int) async throws {
        let (provider, vendor) = provider(wrongBy: .seconds(error))
        for second in [0, 1790, 1810, 1820] {
            fake.pass(.seconds(second) - fake.elapsed)
            #expect(try await provider.credentials().accessKeyID == (second < 1820 ? "ASIA0" : "ASIA1"))
            await fake.settle()
        }
        #expect(await vendor.requests == 2)
        #expect(abs(await provider.clockOffset / .seconds(1) + Double(error)) <= 1)
    }

    @Test func `a clock that is set ahead costs one request, and one that is set back none`() async throws {
        let (provider, vendor) = provider(wrongBy: .zero)
        _ = try await provider.credentials()
        for (error, requests) in [(86_400, 2), (86_400, 2), (0, 2), (-86_400, 2), (-86_400, 2)] {
            fake.pass(.seconds(2))
            fake.setWallClock(ahead: .seconds(error))
            for _ in 0..<10 { _ = try await provider.credentials() }
            await fake.settle()
            #expect(await vendor.requests == requests)
        }
    }

    @Test func `a clock that is set ahead does not take valid ones away while the server is away`() async throws {
        let vendor = ScriptedVendor { [fake] number in
            guard number == 0 else { throw CloakroomError.vendorUnreachable }
            return .numbered(number, until: fake.time(in: .seconds(3600)))
        }
        let provider = CredentialProvider(vendor: vendor, runtime: fake.runtime)
        _ = try await provider.credentials()
        fake.setWallClock(ahead: .seconds(86_400))
        fake.pass(.seconds(3599))
        #expect(try await provider.credentials().accessKeyID == "ASIA0")
        fake.pass(.seconds(1))
        await #expect(throws: CloakroomError.vendorUnreachable) { try await provider.credentials() }
    }

    @Test func `what S3 says of the time corrects the judgement of what is held`() async throws {
        // Two hours slow, and no response has told: these look as if they had three hours to live.
        let truth = fake.wallTime
        fake.setWallClock(ahead: .seconds(-7200))
        let vendor = ScriptedVendor { number in .numbered(number, until: truth.addingTimeInterval(3600)) }
        let provider = CredentialProvider(vendor: vendor, runtime: fake.runtime)
        let refusal = S3ResponseError(status: 403, code: "RequestTimeTooSkewed", date: Timestamp(truth).http)
        var offsets: [Duration] = []
        let key = try await provider.withCredentials { credentials in
            offsets.append(await provider.clockOffset)
            if offsets.count == 1 { throw refusal }
            return credentials.accessKeyID
        }
        #expect(key == "ASIA0")
        #expect(offsets == [.zero, .seconds(7200)])
        fake.pass(.seconds(1799))
        _ = try await provider.credentials()
        await fake.settle()
        #expect(await vendor.requests == 1)
        fake.pass(.seconds(1))
        _ = try await provider.credentials()
        await fake.settle()
        #expect(await vendor.requests == 2)
    }
}
