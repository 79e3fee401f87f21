import CloakroomAWS
import CloakroomKitTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomKit

/// Days of a device at random: time passes, clocks are set, the server vends, repeats itself, fails, or takes its time,
/// and S3 refuses. Whatever happens, three rules hold.
@Suite struct CredentialScheduleTests {
    @Test(arguments: 0..<300)
    func `no ended credentials, one request at a time, and none too many`(seed: Int) async throws {
        let device = RandomDevice(seed: UInt64(seed))
        for _ in 0..<120 { await device.step() }
        await device.end()
        #expect(device.server.complaints == [])
        #expect(await device.vendor.highestConcurrency == 1)
    }
}

/// A server that answers at random, and complains of what it should not have seen.
private final class RandomServer: Sendable {
    private struct State {
        var dice: SeededGenerator
        var complaints: [String] = []
        /// What it gave last; `nil` once that was refused.
        var given: (credentials: VendedCredentials, at: Date)?
        /// When it responded last.
        var responded: Date?
        /// As its `Retry-After` says.
        var leftAloneUntil = Date.distantPast
        /// The device's clock was set since it gave something.
        var isClockSet = false
        /// Responses wait there.
        var gate: Gate?
    }

    private let fake: FakeRuntime
    private let start: Date
    let clock: ServerClock
    private let state: Mutex<State>

    init(seed: UInt64, fake: FakeRuntime) {
        self.fake = fake
        start = fake.wallTime
        clock = ServerClock(runtime: fake.runtime)
        state = Mutex(State(dice: SeededGenerator(seed: seed)))
    }

    var time: Date { start.addingTimeInterval(fake.elapsed / .seconds(1)) }
    var complaints: [String] { state.withLock { $0.complaints } }
    var isSlow: Bool { state.withLock { $0.gate != nil } }

    func roll(_ range: Range<Int>) -> Int { state.withLock { Int.random(in: range, using: &$0.dice) } }

    func complain(_ text: String) {
        let second = fake.elapsed.components.seconds
        state.withLock { $0.complaints.append("\(second) s: \(text)") }
    }

    /// - Returns: where the answers waited until now.
    func become(slow: Bool) -> Gate? {
        state.withLock { state in
            let before = state.gate
            state.gate = slow ? Gate() : nil
            return before
        }
    }

    func noticeClockSet() { state.withLock { $0.isClockSet = true } }

    /// - Returns: what S3 is to refuse from now on.
    func refused() -> VendedCredentials? {
        state.withLock { state in
            let given = state.given
            state.given = nil
            return given?.credentials
        }
    }

    func response(_ number: Int) async throws -> VendedCredentials {
        judgeRequest()
        _ = await state.withLock({ $0.gate })?.pass()
        await clock.learn(from: HTTPResponse(status: 200, fields: [("Date", Timestamp(time).http)]), sent: fake.now)
        let now = time
        state.withLock { $0.responded = now }
        switch roll(0..<10) {
        case 0, 1:
            throw CloakroomError.vendorUnreachable
        case 2:
            let seconds = roll(1..<7200)
            state.withLock { $0.leftAloneUntil = now + Double(min(seconds, 3600)) }
            throw CloakroomError(.tooManyRequests, "slow down", retryAfter: .seconds(seconds))
        case 3, 4:
            // From its own cache, perhaps ended.
            if let last = state.withLock({ $0.given }) { return give(last.credentials) }
            fallthrough
        default:
            let lifetime = [20, 600, 900, 3600, 43_200][roll(0..<5)]
            return give(.numbered(number, until: now + Double(lifetime)))
        }
    }

    private func give(_ credentials: VendedCredentials) -> VendedCredentials {
        let now = time
        // The device takes none that have ended; it knows the time within a second.
        guard credentials.expiration > now + 1 else { return credentials }
        state.withLock { state in
            state.given = (credentials, now)
            state.isClockSet = false
        }
        return credentials
    }

    private func judgeRequest() {
        let now = time
        let state = state.withLock { ($0.given, $0.responded, $0.leftAloneUntil, $0.isClockSet) }
        let (given, responded, leftAloneUntil, isClockSet) = state
        if now < leftAloneUntil { complain("asked a server that wants to be left alone") }
        guard let given, now < given.credentials.expiration - 1 else { return }
        if let responded, now < responded + 1 { complain("asked again at once") }
        let half = given.credentials.expiration.timeIntervalSince(given.at) / 2
        if !isClockSet, now < given.at + half - 1 { complain("asked before half of the lifetime") }
    }
}

private final class RandomDevice: Sendable {
    private let fake = FakeRuntime()
    private let provider: CloakroomKit.CredentialProvider
    /// Who called a slow server.
    private let waiting = Mutex<[Task<Void, Never>]>([])
    private let returned = Mutex(0)
    let server: RandomServer
    let vendor: ScriptedVendor

    init(seed: UInt64) {
        let server = RandomServer(seed: seed, fake: fake)
        self.server = server
        vendor = ScriptedVendor { try await server.response($0) }
        provider = CloakroomKit.CredentialProvider(
            vendor: vendor, serverClock: server.clock, runtime: fake.runtime)
    }

    func step() async {
        switch server.roll(0..<12) {
        case 0: fake.pass(.seconds(server.roll(0..<3)))
        case 1, 2: fake.pass(.seconds(server.roll(0..<60)))
        case 3, 4: fake.pass(.seconds(server.roll(0..<2000)))
        case 5:
            fake.setWallClock(ahead: .seconds(server.roll(-100_000..<100_000)))
            server.noticeClockSet()
        case 6: await hurry(isSlow: server.roll(0..<2) == 0)
        case 7: if let credentials = server.refused() { await provider.refuse(credentials) }
        default: for _ in 0...server.roll(0..<3) { await call() }
        }
    }

    /// A slow server answers now, and perhaps is quicker from now on.
    private func hurry(isSlow: Bool) async {
        await server.become(slow: false)?.open()
        let callers = waiting.withLock { callers in
            defer { callers = [] }
            return callers
        }
        for caller in callers { await caller.value }
        await fake.settle()
        _ = server.become(slow: isSlow)
    }

    private func call() async {
        let (waiters, returned) = (await provider.waiterCount, returned.withLock { $0 })
        let caller = Task {
            let credentials = try? await provider.credentials()
            if let credentials, server.time >= credentials.expiration {
                server.complain("handed out \(credentials.accessKeyID), which had ended")
            }
            self.returned.withLock { $0 += 1 }
        }
        if server.isSlow {
            waiting.withLock { $0.append(caller) }
            do {
                try await until {
                    await provider.waiterCount != waiters || self.returned.withLock { $0 } != returned
                }
            } catch { server.complain("a call neither waits nor ends") }
        } else {
            await caller.value
            await fake.settle()
        }
    }

    /// Whatever was before: when the server is well again, somebody gets credentials.
    func end() async {
        await hurry(isSlow: false)
        for _ in 0..<200 {
            fake.pass(.seconds(3600))
            if (try? await provider.credentials()) != nil { return await fake.settle() }
        }
        server.complain("nobody gets credentials any more")
    }
}
