import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomWire
import Foundation

@testable import CloakroomOperations
@testable import CloakroomServer

/// Knows all that happens, and ends the run at the first thing that must not be.
@LoopActor
final class Oracle {
    weak var world: World?
    let rules: World.Rules
    /// Photos that a device was told are safe, and the keys they are under.
    private var safe: [String: [URL: String]] = [:]
    /// Keys of images that devices refer to.
    private var images: Set<String> = []
    private(set) var revocations: [String: Date] = [:]
    /// When each was made: what began before that may not know of it.
    private var revocationEnds: [String: Date] = [:]
    /// The last of each user's, whether or not Redis still knows.
    private(set) var lastRevocations: [String: Date] = [:]
    /// When each session began, and which worker got it.
    var sessionStarts: [String: (time: Date, worker: String)] = [:]
    /// When a worker last got a session for a user, by both names.
    var lastSession: [String: Date] = [:]
    private var vends: [String: [Date]] = [:]
    private var losses: [Date] = []
    /// When workers were killed.
    private(set) var lastKill: Date?
    /// Images that no device refers to any more, and since when.
    var forgotten: [String: Date] = [:]
    /// Workers whose breaker was seen open.
    var openBreakers: Set<String> = []
    let messages = MessageLedger()
    private var audited: [String: (offset: Int, keys: Set<String>)] = [:]

    init(_ rules: World.Rules) { self.rules = rules }

    // MARK: Photos and images

    func safe(_ files: [URL], of user: String, device: String) {
        for file in files {
            guard let data = try? Data(contentsOf: file) else { Finding.end("\(device): \(file.path) cannot be read") }
            let key = "photos/\(user)/\(MD5.hash(Array(data)).hexadecimal).dat"
            safe[device, default: [:]][file] = key
            check(key, data, "\(device) was told that \(file.lastPathComponent) is safe")
        }
    }

    /// The queue of a device is empty, and had this photo.
    func stored(_ bytes: Data, of user: String, device: String) {
        let digest = MD5.hash(Array(bytes)).hexadecimal
        check("photos/\(user)/\(digest).dat", bytes, "the queue of \(device) is empty")
    }

    func safePhotos(of device: String) -> [URL] { (safe[device] ?? [:]).keys.sorted { $0.path < $1.path } }

    func references(_ url: URL, device: String) {
        let key = "assets/\(url.lastPathComponent)"
        images.insert(key)
        forgotten[key] = nil
        Finding.require(world?.store.s3.exists(key) == true, "\(device) refers to \(key), which S3 does not have")
    }

    func forgets(_ url: URL, device: String) {
        let key = "assets/\(url.lastPathComponent)"
        guard images.remove(key) != nil else { return }
        forgotten[key] = Date()
        Trace.reached(.imageForgotten)
    }

    private func check(_ key: String, _ data: Data, _ claim: String) {
        guard let truth = world?.store.s3.truth(key) else { return }
        Finding.require(truth.exists, "\(claim): S3 has no \(key)")
        Finding.require(
            truth.entityTag == "\"\(MD5.hash(Array(data)).hexadecimal)\"", "\(claim): S3 has other bytes under \(key)")
    }

    // MARK: Sessions

    /// - Parameter isDelivered: whether the worker gets STS' response.
    func vended(_ key: String, _ session: SecurityTokens.Session, for worker: String, isDelivered: Bool) {
        let now = Date()
        sessionStarts[key] = (now, worker)
        Finding.require(
            session.end.timeIntervalSince(now) <= Double(rules.lifetimeSeconds) + 1,
            "credentials of \(session.user) live for longer than \(rules.lifetimeSeconds) s")
        for user in ["u_other", "\(session.user)x", String(session.user.dropLast())] where user != session.user {
            for action in ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"] {
                let resource = "arn:aws:s3:::\(ObjectStore.bucket)/photos/\(user)/a.dat"
                Finding.require(
                    !session.policy.allows(IAMRequest(action, resource)),
                    "credentials of \(session.user) allow \(action) on \(resource)")
            }
            Finding.require(
                !session.policy.allows(
                    IAMRequest(
                        "s3:ListBucket", "arn:aws:s3:::\(ObjectStore.bucket)",
                        context: ["s3:prefix": ["photos/\(user)/"]])),
                "credentials of \(session.user) list the folder of \(user)")
        }
        called(for: session.user, by: worker, isDelivered: isDelivered)
    }

    func workerWasKilled() { lastKill = Date() }

    /// - Parameter time: tokens and credentials of before are worth nothing from now on.
    func revoked(_ user: String, before time: Date) {
        revocations[user] = time
        revocationEnds[user] = Date()
    }

    /// An operator begins to revoke, and some workers may know of it before the operator knows that Redis does.
    func revokes(_ user: String, before time: Date) { lastRevocations[user] = time }

    // MARK: Redis

    /// With Redis' data, counts and records are gone.
    func dataWasLost() {
        countsWereLost()
        revocations = [:]
    }

    /// Some counts begin again: those of one more window are allowed.
    func countsWereLost() { losses.append(Date()) }

    /// A replica has its master's place, with what it has.
    func replaced(_ former: RedisData, by new: RedisData) {
        if !new.entries.holds(former.entries, at: VirtualTime.now / 1_000_000) { countsWereLost() }
        for user in revocations.keys.sorted() {
            guard let id = UserID(user) else { continue }
            let key = Array(UserRecords.key(of: id, prefix: "cloakroom:").utf8)
            guard new.entries[key] != former.entries[key] else { continue }
            Trace.reached("a revocation was lost in a failover")
            revocations[user] = nil
        }
    }

    /// Whether a worker has one now.
    var isAnyRequestUnderWay: Bool { world.map { $0.front.underWay > 0 } ?? false }

    // MARK: Responses

    /// - Parameter seconds: that nginx waited.
    func answered(_ request: UpstreamRequest, _ response: UpstreamResponse, by worker: WorkerProcess, seconds: Double) {
        Finding.require(
            seconds <= 16,
            "\(worker.name): a response to \(request.target) comes after \(seconds) s, and its deadline is 15 s")
        Trace.reached("status \(response.status)")
        if response.status == 500 {
            Trace.note(worker.name, "500 to \(request.target): \(String(decoding: response.body, as: UTF8.self))")
        }
        let path = request.target.split(separator: "?").first.map(String.init) ?? ""
        if response.status == 429 {
            let wait = response.fields["retry-after"] ?? "none"
            Finding.require((Int(wait) ?? .max) <= 3600, "\(worker.name) says 429, and to wait: \(wait)")
        }
        watchBreaker(of: worker, response.status)
        guard response.status == 200 else { return }
        switch path {
        case Route.stsToken.rawValue: credentials(request, response, seconds: seconds, by: worker)
        case Route.renewBatch.rawValue: renewed(response, seconds: seconds, by: worker)
        default: break
        }
    }

    private struct Identity: Decodable {
        let sub: String
        let iat: Double
        let deviceId: String?
    }

    private func identity(_ request: UpstreamRequest) -> Identity {
        let token = String((request.fields["authorization"] ?? "").dropFirst("Bearer ".count))
        let parts = token.split(separator: ".")
        var text = parts.count == 3 ? String(parts[1]).replacing("-", with: "+").replacing("_", with: "/") : ""
        while text.utf8.count % 4 != 0 { text += "=" }
        guard let data = Data(base64Encoded: text), let identity = try? JSONDecoder().decode(Identity.self, from: data)
        else {
            Finding.end("a token that vends cannot be read: \(token)")
        }
        return identity
    }

    private struct Vended: Decodable {
        struct Credentials: Decodable { let accessKeyId: String }
        let credentials: Credentials
    }

    private func credentials(
        _ request: UpstreamRequest, _ response: UpstreamResponse, seconds: Double, by worker: WorkerProcess
    ) {
        Trace.reached(.vended)
        if world?.redis.isUp == false { Trace.reached(.vendedWithoutRedis) }
        let identity = identity(request)
        guard let vended = try? JSONDecoder().decode(Vended.self, from: Data(response.body)) else {
            Finding.end("a vend's response cannot be read: \(String(decoding: response.body, as: UTF8.self))")
        }
        let key = vended.credentials.accessKeyId
        guard let session = world?.tokens.session(of: key), let (start, maker) = sessionStarts[key] else {
            Finding.end("\(worker.name) vends \(key), which STS never made")
        }
        Finding.require(
            session.user == identity.sub, "\(worker.name) vends credentials of \(session.user) to \(identity.sub)")
        Finding.require(session.end > Date(), "\(worker.name) vends credentials that have ended")
        if maker != worker.name { Trace.reached(.vendedOfAnother) }
        if Date().timeIntervalSince(start) > seconds { Trace.reached(.vendedFromCache) }
        if let time = revocations[identity.sub], let end = revocationEnds[identity.sub],
            Date().timeIntervalSince(end) > seconds
        {
            Trace.reached(.vendedAfterRevocation)
            Finding.require(
                identity.iat >= time.timeIntervalSince1970.rounded(.down),
                "\(worker.name) takes a token of \(identity.sub) from before a revocation")
            Finding.require(
                start >= time - 1, "\(worker.name) vends credentials of \(identity.sub) from before a revocation")
        }
        Finding.require(
            auditedKeys(of: worker).contains(key), "\(worker.name) vends \(key) before its line of the audit is written"
        )
        // What a cache has is not limited by it.
        if Date().timeIntervalSince(start) <= seconds { count(identity) }
    }

    /// At most twice the limit in any hour, of two windows; once more for each loss of the counters, and for each worker that
    /// had to count alone.
    private func count(_ identity: Identity) {
        let now = Date()
        let device = "\(identity.sub)/\(identity.deviceId ?? "")"
        var times = (vends[device] ?? []).filter { now.timeIntervalSince($0) < 3600 }
        times.append(now)
        vends[device] = times
        let lost = losses.count { now.timeIntervalSince($0) < 7200 } + workersAlone(since: now - 7200)
        Finding.require(
            times.count <= rules.vends * (2 + lost),
            "\(device) has \(times.count) vends in an hour, and its limit is \(rules.vends)")
    }

    private func auditedKeys(of worker: WorkerProcess) -> Set<String> {
        var known = audited[worker.name] ?? (0, [])
        if let file = FileHandle(forReadingAtPath: worker.audit) {
            try? file.seek(toOffset: UInt64(known.offset))
            let data = (try? file.readToEnd()) ?? Data()
            known.offset += data.count
            for line in data.split(separator: UInt8(ascii: "\n")) {
                let text = String(decoding: line, as: UTF8.self)
                guard let start = text.firstRange(of: "\"accessKeyId\":\"")?.upperBound else { continue }
                known.keys.insert(String(text[start...].prefix { $0 != "\"" }))
            }
            try? file.close()
        }
        audited[worker.name] = known
        return known.keys
    }

    private struct Renewed: Decodable {
        struct Result: Decodable {
            let key: String
            let success: Bool
            let error: String?
        }
        let results: [Result]
    }

    private func renewed(_ response: UpstreamResponse, seconds: Double, by worker: WorkerProcess) {
        guard let renewed = try? JSONDecoder().decode(Renewed.self, from: Data(response.body)) else {
            Finding.end("a renewal's response cannot be read: \(String(decoding: response.body, as: UTF8.self))")
        }
        Trace.reached(.renewed)
        for result in renewed.results {
            // With its prefix or without, as the client has its name.
            let name = result.key.split(separator: "/").last ?? ""
            guard let truth = world?.store.s3.truth("assets/\(name)") else { return }
            if result.success {
                let age = Date().timeIntervalSince1970 - truth.lastModified
                if age > seconds + 2 { Trace.reached(.renewedBefore) }
                Finding.require(
                    truth.exists && age <= 86_400 + seconds + 2,
                    "\(worker.name) says that \(result.key) is renewed, and it is \(truth.exists ? "\(Int(age)) s old" : "gone")"
                )
            } else if result.error == "not_found" {
                Finding.require(!truth.exists, "\(worker.name) says that \(result.key) is not found, and it is there")
            }
        }
    }

    // MARK: All the time

    /// What holds at any moment.
    func look() {
        lookAtBounds()
        lookAtForgotten()
        lookAtPhotosInTiers()
        lookAtChatImages()
        for key in images.sorted() {
            Finding.require(
                world?.store.s3.exists(key) == true, "\(key) has expired, though a device refers to it")
        }
        for (device, photos) in safe.sorted(by: { $0.key < $1.key }) {
            for (file, key) in photos.sorted(by: { $0.key.path < $1.key.path }) {
                Finding.require(
                    world?.store.s3.exists(key) == true,
                    "\(file.lastPathComponent) of \(device) is gone, and was safe")
            }
        }
    }

    /// After the faults.
    func end(_ world: World) {
        look()
        verifyAudits(world)
        Trace.note(
            "oracle",
            "\(images.count) images, \(safe.values.reduce(0) { $0 + $1.count }) photos, \(world.tokens.calls) calls of STS"
        )
    }
}
