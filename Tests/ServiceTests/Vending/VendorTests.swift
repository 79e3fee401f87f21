import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct VendorTests {
    private let clock = TestClock()

    private let vending: Settings.Vending

    init() throws { vending = try settings(smallest()).vending }

    @LoopActor private func vendor(
        _ transport: ScriptedTransport, _ cache: String = "", jitter: Double = 0
    ) throws -> (Vendor, Metrics) {
        let clock = clock
        var vending = vending
        vending.credentialCache = try settings(smallest(vending: "credentialCache: {\(cache)}")).vending.credentialCache
        let metrics = try Metrics()
        let runtime = RuntimeDependencies(wallClock: { clock.now }, sleep: { _ in }, randomNumber: { .max })
        let sts = STSClient(
            endpoint: try .sts(region: "eu-west-1"), transport: transport,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            runtime: runtime, isolation: LoopActor.shared)
        let keys = WorkerCredentials(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret")))
        let vendor = Vendor(
            roles: RoleClients(vending.roles) { RoleClient($0, credentials: keys, sts: sts, isAlone: true) },
            settings: vending, metrics: metrics, now: { clock.now },
            jitter: { jitter })
        return (vendor, metrics)
    }

    private func subject(_ user: String = "u_1", tier: String = "free") throws -> Subject {
        Subject(userID: try #require(UserID(user)), deviceID: nil, tier: tier, issuer: "https://a.example")
    }

    /// - Parameter grant: `nil` for all that the subject's tier has.
    @LoopActor private func key(
        _ vendor: Vendor, _ subject: Subject, _ grant: Grant? = nil, record: UserRecord? = nil
    ) async -> Result<String, STSError> {
        let grant = grant ?? Grant(scope: vending.scope, lifetime: vending.lifetime, tier: subject.tier ?? "free")
        let revoked = record?.revokedBefore
        let held = vendor.cached(for: subject, grant, revokedBefore: revoked)
        if let held { return .success(held.role.credentials.accessKeyID) }
        return await vendor.credentials(for: subject, grant, revokedBefore: revoked).map(\.role.credentials.accessKeyID)
    }

    /// Numbers its answers.
    private static func counting() -> ScriptedTransport {
        let count = Mutex(0)
        return ScriptedTransport { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .assumed(for: request, key: "ASIA\(number)")
        }
    }

    @Test @LoopActor func `asks STS once for a thousand who come together`() async throws {
        let barrier = Barrier()
        let transport = ScriptedTransport { _ in
            await barrier.wait()
            return .assumed()
        }
        let (vendor, metrics) = try vendor(transport)
        let subject = try subject()
        let tasks = (0..<1000).map { _ in LoopActor.spawn { await self.key(vendor, subject) } }
        await barrier.gathers(1)
        barrier.open()
        for task in tasks { #expect(await task.value == .success("ASIA1")) }
        #expect(transport.requests.count == 1)
        let cache = metrics.layout.cache
        #expect([CacheLabel.hit, .miss, .joined, .off].map { metrics.row[cache[$0]] } == [0, 1, 999, 0])
    }

    @Test @LoopActor func `needs one permit for all who wait for one call of STS, and none for what is at hand`()
        async throws
    {
        let barrier = Barrier()
        let transport = ScriptedTransport { _ in
            await barrier.wait()
            return .assumed()
        }
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        let grant = Grant(scope: vending.scope, lifetime: vending.lifetime, tier: "free")
        var permits = 0
        let tasks = (0..<1000).map { _ in
            LoopActor.spawn {
                try? await vendor.credentials(for: subject, grant) {
                    permits += 1
                    return true
                }.get()
            }
        }
        await barrier.gathers(1)
        barrier.open()
        for task in tasks { #expect(await task.value != nil) }
        #expect(vendor.cached(for: subject, grant) != nil)
        #expect(permits == 1)
    }

    @Test @LoopActor func `hands out what was vended with shared folders only with the same`() async throws {
        let settings = try settings(smallest(vending: "sharing: true"))
        let (rules, subject, now) = (SharingRules(settings), try subject("u_2"), clock.now)
        let (vendor, _) = try vendor(Self.counting())
        func grant(_ albums: String...) throws -> Grant {
            let owner = try #require(UserID("u_1"))
            let folders = try albums.map {
                try #require(
                    SharedFolder(owner: owner, prefix: "photos/u_1/\($0)/", end: now.addingTimeInterval(3600)))
            }
            var grant = Grant(scope: settings.vending.scope, lifetime: vending.lifetime, tier: "free")
            grant.shared = rules.sessionShares(folders, of: subject.userID, grant, at: now).shared
            return grant
        }
        for (albums, key) in [([], "ASIA1"), (["a"], "ASIA2"), (["a", "b"], "ASIA3")] as [([String], String)] {
            let grant = try albums.count == 2 ? grant("b", "a") : albums.isEmpty ? grant() : grant("a")
            for _ in 1...2 { #expect(await self.key(vendor, subject, grant) == .success(key)) }
            #expect(vendor.cached(for: subject, grant) != nil && grant.shared.folders.count == albums.count)
        }
        #expect(await key(vendor, subject, try grant("a")) == .success("ASIA2"))
        #expect(await key(vendor, subject, try grant()) == .success("ASIA1"))
    }

    @Test @LoopActor func `what STS refuses to share is left out for a while, once for each user`() async throws {
        let settings = try settings(smallest(vending: "sharing: true"))
        let (clock, user) = (clock, try #require(UserID("u_2")))
        let metrics = try Metrics()
        let sharing = Sharing(
            settings, metrics: metrics, log: Log(sink: nil, level: .error), now: { clock.now })
        let shares = UserRecord.Shares(
            "\(Int(clock.now.timeIntervalSince1970) + 9000) u_1 photos/u_1/a/\njunk")
        var grant = Grant(scope: settings.vending.scope, lifetime: .seconds(900), tier: "free")
        grant.shared = sharing.folders(shares, for: user, grant)
        #expect(grant.shared.folders.count == 1)
        for _ in 1...2 { sharing.refused(shares, for: user, grant, code: "PackedPolicyTooLarge") }
        #expect(sharing.folders(shares, for: user, grant).isEmpty)
        clock.pass(601)
        #expect(sharing.folders(shares, for: user, grant) == grant.shared)
        let omitted = metrics.layout.omittedShares
        #expect([SharingRules.Omission.refused, .unreadable].map { metrics.row[omitted[$0]] } == [1, 1])
    }

    @Test @LoopActor func `asks STS for nothing without a permit, and hands out what it has instead`() async throws {
        let transport = Self.counting()
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        let grant = Grant(scope: vending.scope, lifetime: vending.lifetime, tier: "free")
        await #expect(throws: Vendor.notPermitted) {
            try await vendor.credentials(for: subject, grant, permit: { false }).get()
        }
        #expect(transport.requests.isEmpty)
        // That one may not ask STS keeps no other from it.
        #expect(try await vendor.credentials(for: subject, grant).get().role.credentials.accessKeyID == "ASIA1")
        clock.pass(2000)
        #expect(vendor.cached(for: subject, grant) == nil)
        let stale = try await vendor.credentials(for: subject, grant, permit: { false }).get()
        #expect(stale.role.credentials.accessKeyID == "ASIA1" && transport.requests.count == 1)
        // Nor where nothing is kept.
        let (forgetful, _) = try self.vendor(transport, "enabled: false")
        await #expect(throws: Vendor.notPermitted) {
            try await forgetful.credentials(for: subject, grant, permit: { false }).get()
        }
        #expect(transport.requests.count == 1)
    }

    /// Otherwise one who asks for many lifetimes has each search go past all of them.
    @Test func `spreads what a user may choose over the cache`() throws {
        let user = try subject().userID
        let hashes = (900..<3600).map { seconds in
            let grant = Grant(scope: vending.scope, lifetime: .seconds(seconds), tier: "free")
            return CredentialCache.Key(user: user, grant: grant).hashValue
        }
        #expect(Set(hashes).count == hashes.count)
    }

    @Test @LoopActor func `hands out what it has for half of its life`() async throws {
        let transport = Self.counting()
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        #expect(await key(vendor, subject) == .success("ASIA1"))
        clock.pass(1799)
        #expect(await key(vendor, subject) == .success("ASIA1"))
        clock.pass(1)
        #expect(await key(vendor, subject) == .success("ASIA2"))
    }

    @Test @LoopActor func `tells users and tiers apart`() async throws {
        let (vendor, _) = try vendor(Self.counting())
        for (user, tier, expected) in [("u_1", "free", 1), ("u_10", "free", 2), ("u_1", "pro", 3), ("u_1", "free", 1)] {
            #expect(await key(vendor, try subject(user, tier: tier)) == .success("ASIA\(expected)"))
        }
    }

    @Test @LoopActor func `tells scopes and lifetimes apart`() async throws {
        let transport = Self.counting()
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        let read = try #require(vending.scopes["read"])
        for (scope, seconds, expected) in [
            (vending.scope, 3600, 1), (read, 3600, 2), (read, 900, 3), (vending.scope, 900, 4), (read, 3600, 2),
        ] {
            let grant = Grant(scope: scope, lifetime: .seconds(seconds), tier: "free")
            #expect(await key(vendor, subject, grant) == .success("ASIA\(expected)"))
        }
        let form = String(decoding: transport.requests[2].body, as: UTF8.self)
        #expect(form.contains("&DurationSeconds=900&") && form.contains("s3%3AGetObject"))
        #expect(!form.contains("s3%3APutObject"))
    }

    @Test(arguments: [(0, 1800), (0.5, 1980), (1, 2160)])
    @LoopActor func `asks for new ones up to a tenth of their life later`(jitter: Double, seconds: Double) async throws
    {
        let (vendor, _) = try vendor(Self.counting(), jitter: jitter)
        let subject = try subject()
        #expect(await key(vendor, subject) == .success("ASIA1"))
        clock.pass(seconds - 1)
        #expect(await key(vendor, subject) == .success("ASIA1"))
        clock.pass(1)
        #expect(await key(vendor, subject) == .success("ASIA2"))
    }

    @Test @LoopActor func `does not look for new ones all the time while another worker's stand in`() async throws {
        let clock = clock
        let cache = CredentialCache(capacity: 8, now: { clock.now })
        let key = CredentialCache.Key(
            user: try subject().userID, grant: Grant(scope: vending.scope, lifetime: .seconds(3600), tier: "free"))
        let role = AssumedRole(
            accessKeyID: "ASIA1", secretAccessKey: Secret("secret"), sessionToken: Secret("token"),
            expiration: clock.now.addingTimeInterval(1200))
        let stale = VendedSession(
            role: role, sessionName: "s", issued: clock.now.addingTimeInterval(-2400), scope: "full",
            scopeDigest: "d", jitter: 0)
        var looks = 0
        func look() async -> String {
            let (result, outcome) = await cache.credentials(key) { _ in
                looks += 1
                return (.success(stale), .previous)
            }
            return "\((try? result.get())?.role.credentials.accessKeyID ?? "none") \(outcome)"
        }
        for _ in 0..<3 { #expect(await look() == "ASIA1 previous") }
        #expect(looks == 1)
        clock.pass(3)
        #expect(await look() == "ASIA1 previous")
        #expect(looks == 2)
        clock.pass(1200)
        _ = await look()
        #expect(looks == 3)
    }

    /// FAULTS row 4: an STS that hangs takes a request's whole time.
    @Test @LoopActor func `hands out what still holds when new ones are long in coming`() async throws {
        let clock = clock
        let cache = CredentialCache(capacity: 8, waitLimit: .milliseconds(20), now: { clock.now })
        let key = CredentialCache.Key(
            user: try subject().userID, grant: Grant(scope: vending.scope, lifetime: .seconds(3600), tier: "free"))
        let barrier = Barrier()
        var number = 0
        @LoopActor func ask() async -> String {
            let (result, outcome) = await cache.credentials(key) { _ in
                number += 1
                let name = "ASIA\(number)"
                if number > 1 { await barrier.wait() }
                let role = AssumedRole(
                    accessKeyID: name, secretAccessKey: Secret("secret"), sessionToken: Secret("token"),
                    expiration: clock.now.addingTimeInterval(3600))
                return (
                    .success(
                        VendedSession(
                            role: role, sessionName: "s", issued: clock.now, scope: "full", scopeDigest: "d",
                            jitter: 0)), .miss
                )
            }
            return "\((try? result.get())?.role.credentials.accessKeyID ?? "none") \(outcome)"
        }
        #expect(await ask() == "ASIA1 miss")
        clock.pass(1800)
        let joining = LoopActor.spawn { await ask() }
        #expect(await ask() == "ASIA1 previous")
        #expect(await joining.value == "ASIA1 previous")
        let last = LoopActor.spawn { await ask() }
        await Task.yield()
        barrier.open()
        #expect(await last.value == "ASIA2 joined")
        #expect(await ask() == "ASIA2 hit")
        #expect(number == 2)
    }

    @Test(arguments: [(403, "AccessDenied"), (400, "MalformedPolicyDocument"), (400, "PackedPolicyTooLarge")])
    @LoopActor func `asks again for what was refused only after a while`(status: Int, code: String) async throws {
        let isDown = Mutex(true)
        let transport = ScriptedTransport { _ in isDown.withLock { $0 } ? .error(status, code) : .assumed() }
        let (vendor, metrics) = try vendor(transport)
        let subject = try subject()
        for _ in 0..<5 { #expect(await key(vendor, subject) == .failure(.refused(status: status, code: code))) }
        #expect(transport.requests.count == 1)
        #expect(metrics.row[metrics.layout.cache[.refused]] == 4)
        #expect(await key(vendor, try self.subject("u_2")) == .failure(.refused(status: status, code: code)))
        isDown.withLock { $0 = false }
        clock.pass(2.9)
        #expect(await key(vendor, subject) == .failure(.refused(status: status, code: code)))
        clock.pass(0.2)
        #expect(await key(vendor, subject) == .success("ASIA1"))
        #expect(transport.requests.count == 3)
    }

    @Test @LoopActor func `keeps for nobody that STS was away`() async throws {
        let isDown = Mutex(true)
        let transport = ScriptedTransport { _ in isDown.withLock { $0 } ? .error(503, "Unavailable") : .assumed() }
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        #expect(await key(vendor, subject) == .failure(.unavailable(retryAfter: nil, code: "Unavailable")))
        isDown.withLock { $0 = false }
        #expect(await key(vendor, subject) == .success("ASIA1"))
    }

    @Test @LoopActor func `does not ask an STS that is away for everybody who can be served without it`() async throws {
        let isDown = Mutex(false)
        let transport = ScriptedTransport { _ in isDown.withLock { $0 } ? .error(503, "Unavailable") : .assumed() }
        let (vendor, metrics) = try vendor(transport)
        let subject = try subject()
        #expect(await key(vendor, subject) == .success("ASIA1"))
        isDown.withLock { $0 = true }
        clock.pass(1800)
        let tasks = (0..<100).map { _ in LoopActor.spawn { await self.key(vendor, subject) } }
        for task in tasks { #expect(await task.value == .success("ASIA1")) }
        let asked = transport.requests.count
        for _ in 0..<100 { #expect(await key(vendor, subject) == .success("ASIA1")) }
        #expect(transport.requests.count == asked)
        #expect(metrics.row[metrics.layout.cache[.previous]] >= 100)
        clock.pass(3)
        isDown.withLock { $0 = false }
        #expect(await key(vendor, subject) == .success("ASIA1"))
        #expect(transport.requests.count == asked + 1)
    }

    @Test @LoopActor func `serves what still holds while STS is away, and nothing that is about to end`() async throws {
        let isDown = Mutex(false)
        let transport = ScriptedTransport { _ in isDown.withLock { $0 } ? .error(503, "Unavailable") : .assumed() }
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        #expect(await key(vendor, subject) == .success("ASIA1"))
        isDown.withLock { $0 = true }
        clock.pass(3539)
        #expect(await key(vendor, subject) == .success("ASIA1"))
        clock.pass(1)
        #expect(await key(vendor, subject) == .failure(.unavailable(retryAfter: nil, code: "Unavailable")))
        #expect(
            await key(vendor, try self.subject("u_2")) == .failure(.unavailable(retryAfter: nil, code: "Unavailable")))
    }

    @Test @LoopActor func `hands out nothing that was issued before it was revoked`() async throws {
        let (vendor, _) = try vendor(Self.counting())
        let subject = try subject()
        #expect(await key(vendor, subject) == .success("ASIA1"))
        var record = UserRecord()
        record.revokedBefore = clock.now
        #expect(await key(vendor, subject, record: record) == .success("ASIA1"))
        record.revokedBefore = clock.now.addingTimeInterval(1)
        clock.pass(2)
        #expect(await key(vendor, subject, record: record) == .success("ASIA2"))
        #expect(await key(vendor, subject, record: record) == .success("ASIA2"))
    }

    @Test @LoopActor func `hands out nothing that was on its way when it was revoked`() async throws {
        let barrier = Barrier()
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { await barrier.wait() }
            return .assumed(key: "ASIA\(number)")
        }
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        let first = LoopActor.spawn { await self.key(vendor, subject) }
        await barrier.gathers(1)
        var record = UserRecord()
        record.revokedBefore = clock.now.addingTimeInterval(1)
        clock.pass(2)
        let revoked = record
        let second = LoopActor.spawn { await self.key(vendor, subject, record: revoked) }
        await Task.yield()
        barrier.open()
        #expect(await first.value == .success("ASIA1"))
        #expect(await second.value == .success("ASIA2"))
        #expect(await key(vendor, subject, record: record) == .success("ASIA2"))
    }

    @Test @LoopActor func `does not fall back on what was revoked while STS is away`() async throws {
        let isDown = Mutex(false)
        let transport = ScriptedTransport { _ in isDown.withLock { $0 } ? .error(503, "Unavailable") : .assumed() }
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        #expect(await key(vendor, subject) == .success("ASIA1"))
        isDown.withLock { $0 = true }
        clock.pass(2400)
        var record = UserRecord()
        record.revokedBefore = clock.now
        #expect(
            await key(vendor, subject, record: record) == .failure(.unavailable(retryAfter: nil, code: "Unavailable")))
    }

    @Test @LoopActor func `asks every time when told to`() async throws {
        let transport = Self.counting()
        let (vendor, metrics) = try vendor(transport, "enabled: false")
        let subject = try subject()
        for number in 1...3 { #expect(await key(vendor, subject) == .success("ASIA\(number)")) }
        #expect(metrics.row[metrics.layout.cache[.off]] == 3)
    }

    @Test @LoopActor func `hands out nothing that lives longer than the grant, and keeps none`() async throws {
        let transport = ScriptedTransport { _ in .assumed(until: "2027-01-15T09:00:00Z") }
        let (vendor, _) = try vendor(transport)
        let subject = try subject()
        let grant = Grant(scope: vending.scope, lifetime: .seconds(900), tier: "free")
        for _ in 1...2 {
            #expect(await key(vendor, subject, grant) == .failure(.unusable(code: "ExpiresTooLate")))
        }
        #expect(transport.requests.count == 2)
        #expect(await key(vendor, subject) == .success("ASIA1"))
    }

    @Test @LoopActor func `asks for no more than the subject's own`() async throws {
        let transport = Self.counting()
        let (vendor, _) = try vendor(transport)
        _ = await key(vendor, try subject("u_1", tier: "pro"))
        let form = String(decoding: try #require(transport.requests.first).body, as: UTF8.self)
        for part in [
            "&RoleArn=arn%3Aaws%3Aiam%3A%3A000000000000%3Arole%2Fsession&RoleSessionName=u_1-",
            "&DurationSeconds=3600&",
            "Tags.member.1.Key=UserId&Tags.member.1.Value=u_1",
            "Tags.member.2.Key=SubscriptionTier&Tags.member.2.Value=pro",
            "photos%2Fphotos%2Fu_1%2F%2A",
        ] { #expect(form.contains(part)) }
        #expect(!form.contains("%24%7Buser%7D"))
    }
}
