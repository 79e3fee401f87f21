import CloakroomJOSE
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomOperations
import CloakroomRedis
import CloakroomScriptedS3
import Foundation

@testable import CloakroomServer

/// Workers, Redis, STS, S3, nginx and devices of one seed, and what goes wrong between them.
@LoopActor
final class World {
    /// What an operator has set up, drawn by the seed: odd but legal values among them.
    struct Rules {
        var workers = 3
        var vends = 60
        var lifetimeSeconds = 3600
        var retentionDays = 30
        /// Whether workers share in Redis what they vended.
        var sharesCredentials = false
        /// Whether each keeps them; else every vend calls STS.
        var cachesCredentials = true
        var redis = RedisKind.single
        /// Whether users are spread over two roles, so that one which STS fails does not hold up the other.
        var hasTwoRoles = false
    }

    enum RedisKind: CaseIterable {
        case single, sentinel, cluster
    }

    static let issuer = "https://auth.example"
    static let signingSecret = "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"
    static let releaseSecret = "b3RzQe7NwUyJ5mXaVd0LhKgT8pFc2iS6"
    static let sealingSecret = "Zk4Vq8yXw1nRtG6sBpE3uLmHc9JdAf27"
    static let apiURL = "https://api.example"
    static let assetsURL = "https://cdn.example"
    static let stsURL = "http://sts.example:9000"
    /// An address, not a name: the bucket stands in the path, where the scripted S3 has it.
    static let s3URL = "http://127.0.0.1:9000"
    static let s3Host = "127.0.0.1:9000"

    let folder: String
    let rules: Rules
    let network: Network
    let redis: any RedisDeployment
    let tokens: SecurityTokens
    let store: ObjectStore
    let oracle: Oracle
    let front: Front
    private(set) var devices: [Device] = []
    private(set) var messengers: Messengers?
    private(set) var workers: [WorkerProcess] = []
    private var alive: Set<String> = []
    /// Of all workers that there ever were.
    private(set) var names: [String] = []
    /// Whether S3 refuses some requests, as by a policy of the bucket.
    private(set) var storeDenies = false
    private let draw: Draw
    /// Of the fault that is under way.
    private var random: SeededGenerator
    private var workerCount = 0
    private let signer: TokenSigner

    init(seed: UInt64, devices count: Int, in folder: String) throws {
        self.folder = folder
        draw = Draw(seed: seed)
        random = draw.generator("rules")
        rules = Rules(
            workers: Int.random(in: 2...5, using: &random), vends: [5, 20, 60].randomElement(using: &random)!,
            lifetimeSeconds: [900, 3600, 3600, 43_200].randomElement(using: &random)!,
            retentionDays: [30, 30, 30, 25].randomElement(using: &random)!,
            sharesCredentials: Bool.random(using: &random),
            cachesCredentials: Int.random(in: 0..<3, using: &random) > 0,
            redis: Plant.current == .staleMasterIsTrusted
                ? .sentinel : RedisKind.allCases[Int(seed % UInt64(RedisKind.allCases.count))],
            hasTwoRoles: seed.isMultiple(of: 2))
        network = Network(draw)
        tokens = SecurityTokens(network)
        let throttles = Bool.random(using: &random) ? 0 : Double.random(in: 0...0.3, using: &random)
        tokens.throttledShare = Fault.throttling.isLeftOut ? 0 : throttles
        store = try ObjectStore(tokens, retentionDays: rules.retentionDays)
        oracle = Oracle(rules)
        let ports = RedisPorts(in: folder, network)
        redis =
            switch rules.redis {
            case .single: SingleRedis(ports, oracle, seed: random.next())
            case .sentinel: SentinelRedis(ports, oracle, seed: random.next())
            case .cluster: ClusterRedis(ports, oracle, seed: random.next())
            }
        front = Front(oracle)
        guard let key = HMACKey(Array(Self.signingSecret.utf8)) else { preconditionFailure("the secret is too short") }
        signer = TokenSigner(issuer: Self.issuer, audience: "cloakroom", key: key)
        Trace.note("world", "\(rules), \(network.weather), STS throttles \(tokens.throttledShare)")
        oracle.world = self
        for _ in 0..<rules.workers { try startWorker() }
        for number in 0..<count where !Fault.leftOut.contains("d_\(number)") {
            // Some users have two devices.
            let user = "u_\(number % max(1, count * 4 / 5))"
            self.devices.append(try Device("d_\(number)", of: user, draw, in: self))
        }
        messengers = Messengers(self.devices.map { ($0.name, $0.user) }, draw, in: self)
    }

    func token(of user: String, device: String) -> String {
        signer.token(subject: user, deviceID: device, tier: nil, now: Date(), lifetime: .seconds(86_400))
    }

    func isAlive(_ worker: String) -> Bool { alive.contains(worker) }

    /// Of what was killed.
    func waitForGood() async -> Never {
        Trace.reached("a killed process's continuation")
        while true { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
    }

    // MARK: Time

    /// Lets the world live, with faults, then without them.
    func run(days: Int) async throws {
        let end = VirtualTime.now + UInt64(days) * 86_400_000_000_000
        for device in devices { device.start(until: end) }
        messengers?.start(until: end)
        LoopActor.spawn { [self] in await trouble(until: end) }
        await sleep(Double(days) * 86_400)
        calm()
        // So long breakers, connections and retries may take to find that everything is well again.
        await sleep(300)
        let calls = tokens.calls
        for device in devices { await device.finish() }
        Finding.require(
            tokens.calls - calls <= 3 * devices.count * workers.count,
            "workers call STS \(tokens.calls - calls) times when all is well")
        await messengers?.finish(oracle)
        oracle.end(self)
    }

    private func sleep(_ seconds: Double) async { try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000))) }

    /// Faults of the whole world, one after the other; those of single messages are the network's.
    private func trouble(until end: UInt64) async {
        var strikes = draw.generator("strikes")
        var next = VirtualTime.now
        while true {
            next += UInt64(Double.random(in: 600...14_400, using: &strikes) * 1e9)
            let fault = Fault.strikes.randomElement(using: &strikes)!
            random = SeededGenerator(seed: strikes.next())
            guard next < end else { return }
            guard !fault.isLeftOut else { continue }
            // Those of a strike that is left out do not come earlier: the next one keeps its time.
            if next > VirtualTime.now { await sleep(Double(next - VirtualTime.now) / 1e9) }
            guard VirtualTime.now < end else { return }
            do { try await strike(fault) } catch { Finding.end("a worker does not start: \(error)") }
        }
    }

    private func strike(_ fault: Fault) async throws {
        // Many of those that break what is under way come when something is, which most of a day has none of.
        switch fault {
        case .workerKilled, .reload, .redis, .revocationInFailover:
            guard Bool.random(using: &random), !devices.isEmpty else { break }
            await front.arrival(within: 14_400)
            await sleep(Double.random(in: 0...0.3, using: &random))
            guard !network.isCalm else { return }
        default: break
        }
        switch fault {
        case .workerKilled: try await killWorker()
        case .reload: try await replaceWorkers()
        case .redis: await redis.strike()
        case .stsOutage:
            tokens.isDown = true
            Trace.note("sts", "is down")
            Trace.reached(.tokensDown)
            // A breaker opens after twenty calls of a worker in a row.
            for device in devices.shuffled(using: &random).prefix(Int.random(in: 0...devices.count, using: &random)) {
                LoopActor.spawn { await device.crashAgainAndAgain() }
            }
            await sleep(random.seconds(in: 60...1200))
            tokens.isDown = false
        case .s3Failures:
            let share = Double.random(in: 0.05...0.6, using: &random)
            // Now and then all that is wrong is the bucket's policy.
            let isDenied = Int.random(in: 0..<4, using: &random) == 0
            storeDenies = isDenied
            store.s3.mix(.init(share: share, seed: random.next(), faults: isDenied ? [.accessDenied] : Self.s3Faults))
            Trace.note("s3", "\(isDenied ? "refuses" : "fails") \(Int(share * 100)) % of its requests")
            Trace.reached(.storeFailed)
            await sleep(random.seconds(in: 60...3600))
            store.s3.clearFaults()
            storeDenies = false
        case .partition:
            guard let worker = workers.randomElement(using: &random) else { return }
            separate(worker, from: [["sts"], ["s3"], redis.servers].randomElement(using: &random)!)
        case .partitionOfOne:
            // From one server alone, which may be the one that all go to.
            guard let worker = workers.randomElement(using: &random) else { return }
            separate(worker, from: [redis.servers.randomElement(using: &random)!])
        case .revocation:
            guard let device = devices.randomElement(using: &random) else { return }
            await revoke(device.user)
        case .revocationInFailover:
            guard let device = devices.randomElement(using: &random) else { return }
            let delay = Double.random(in: 0...20, using: &random)
            LoopActor.spawn { [self] in
                await sleep(delay)
                await revoke(device.user)
            }
            await redis.strike()
        case .lostRequests, .lostResponses, .slowMessages, .throttling, .appKilled, .offline, .wrongClock, .crashLoop,
            .powerLoss, .diskFull, .reinstallation, .letterLost, .letterLate, .letterRepeated, .clockSet,
            .deviceRestarted, .vaultLost, .vaultLocked, .handlerFails:
            preconditionFailure("\(fault) is not of the whole world")
        }
    }

    private func separate(_ worker: WorkerProcess, from others: [String]) {
        let seconds = random.seconds(in: 5...600)
        for other in others { network.separate(worker.name, other, for: seconds) }
    }

    /// All but lies about an object: S3 calls archived only what is, says of none that it is there already (412), and forbids what a
    /// policy forbids, again and again.
    private static let s3Faults = S3Fault.allCases.filter {
        ![.invalidObjectState, .accessDenied, .preconditionFailed].contains($0)
    }

    private func calm() {
        network.isCalm = true
        tokens.isDown = false
        store.s3.clearFaults()
        storeDenies = false
        redis.calm()
        Trace.note("world", "is calm")
    }

    // MARK: Workers

    private func startWorker() throws {
        workerCount += 1
        let worker = try WorkerProcess("w\(workerCount)", in: self)
        names.append(worker.name)
        alive.insert(worker.name)
        workers.append(worker)
        front.add(worker)
        Trace.note(worker.name, "is up")
    }

    private func killWorker() async throws {
        guard let worker = front.busiest ?? workers.randomElement(using: &random) else { return }
        Trace.note(worker.name, "is killed")
        Trace.reached(.workerKilled)
        alive.remove(worker.name)
        oracle.workerWasKilled()
        workers.removeAll { $0 === worker }
        worker.kill(in: self)
        front.remove(worker, isDead: true)
        await sleep(Double.random(in: 0.1...3, using: &random))
        try startWorker()
    }

    /// As a reload: new ones beside the old, which drain.
    private func replaceWorkers() async throws {
        Trace.note("world", "reloads")
        Trace.reached(.reload)
        for worker in workers {
            try startWorker()
            workers.removeAll { $0 === worker }
            front.remove(worker, isDead: false)
            if Plant.current == .reloadDropsRequests { worker.kill(in: self) } else { await worker.drain(in: self) }
            alive.remove(worker.name)
            Trace.note(worker.name, "has drained")
        }
    }

    // MARK: The operator

    private lazy var operatorSettings = WorkerProcess.settings(
        self, audit: "\(folder)/audit-operator", redis: redis.settings(for: "operator"))

    /// `cloakroom user revoke --keep-enabled`: until Redis and a replica have it, as a person repeats a command that failed.
    private func revoke(_ user: String) async {
        guard let id = UserID(user) else { return }
        let settings = operatorSettings
        for _ in 0..<20 {
            // Each run of the command has its own time; of several the latest holds.
            let time = Revocation.time(
                of: Date(), requestDeadline: settings.server.requestDeadline, leeway: settings.tokens.largestLeeway)
            var change = UserRecordChange()
            change.revokedBefore(time)
            oracle.revokes(user, before: time)
            if await isRevoked(id, change) {
                oracle.revoked(user, before: time)
                Trace.note("operator", "has revoked \(user)")
                Trace.reached(.revocation)
                return
            }
            await sleep(3)
        }
    }

    /// One run of the command.
    private func isRevoked(_ user: UserID, _ change: UserRecordChange) async -> Bool {
        let settings = operatorSettings.redis
        guard let client = try? settings.clientForPeople(atLeast: .seconds(5), intervals: WorkerProcess.intervals(self))
        else {
            return false
        }
        defer { client.close() }
        let records = UserRecords(redis: client, keyPrefix: settings.keyPrefix)
        do throws(RecordChangeError) {
            let replication = try await records.applyReplicated(
                change, to: user, hasFailover: settings.servers.hasFailover)
            guard let replication else { return true }
            guard case .replicas(1..., _) = replication else {
                Trace.note("operator", replication.sentence)
                return false
            }
            return true
        } catch {
            Trace.note("operator", "user revoke: \(error)")
            return false
        }
    }
}
