import CloakroomAWS
package import CloakroomCrypto
import CloakroomJSON
package import CloakroomLoop
package import CloakroomRedis

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What all workers have vended, sealed in Redis: of many that need the same credentials, one calls STS.
///
/// The one holds a lock for ``lockLifetime``, a third of what a request may take. If it dies, the lock ends and the
/// next to look takes it, with at least half of the request's time left; who has waited for half of that time calls STS
/// without a lock. Two may then request the same, which costs a call and does no harm.
@LoopActor
package final class SharedCredentialCache {
    private let redis: any RedisClient
    private let keyPrefix: String
    private let seal: CredentialSeal
    private let now: @Sendable () -> Date
    private let jitter: @Sendable () -> Double
    private let lockLifetime: Duration
    private let waitLimit: Duration

    /// Called with why Redis could not help.
    package var onFailure: (@LoopActor (RedisError) -> Void)?

    /// - Parameters:
    ///   - keys: at least one; the first seals, all open.
    ///   - jitter: gives numbers from 0 to 1.
    package init(
        redis: any RedisClient, keyPrefix: String, keys: [SealingKey], requestDeadline: Duration,
        now: @escaping @Sendable () -> Date = { Date() },
        jitter: @escaping @Sendable () -> Double = { Jitter.next() }
    ) {
        self.redis = redis
        self.keyPrefix = keyPrefix
        seal = CredentialSeal(keys: keys)
        self.now = now
        self.jitter = jitter
        lockLifetime = min(max(requestDeadline / 3, .milliseconds(50)), .seconds(10))
        waitLimit = requestDeadline / 2
    }

    /// - Parameters:
    ///   - previous: what may be handed out while another worker gets new ones, or while STS is unreachable.
    ///   - revokedBefore: what was issued before is of no use.
    ///   - assume: calls STS.
    func credentials(
        at sharedKey: SharedCredentialKey, previous: VendedSession?, revokedBefore: Date?,
        assume: @LoopActor () async -> CredentialCache.Result
    ) async -> (CredentialCache.Result, CacheLabel) {
        let key = sharedKey.key(prefix: keyPrefix)
        let token = Base64URL.encode(randomBytes(12))
        let end = Monotonic.now &+ waitLimit.nanoseconds
        var previous = previous
        var mark = ""
        var pause = 20.0
        while Monotonic.now < end {
            let found: LookupResult
            do throws(RedisError) {
                found = try await lookUp(key, besides: mark, token: token)
            } catch {
                onFailure?(error)
                break
            }
            switch found {
            case .entry(let text):
                mark = SHA1.hash(text).hexadecimal
                guard let vended = seal.open(text, for: sharedKey, jitter: jitter()),
                    !vended.isRevoked(before: revokedBefore)
                else { continue }
                if vended.isReusable(at: now()) { return (.success(vended), .shared) }
                if vended.mayStandIn(at: now()) { previous = vended }
            case .taken:
                let result = await assume()
                await finish(key, sharedKey, token, result)
                return standingIn(previous, for: result)
            case .busy:
                if let previous { return (.success(previous), .previous) }
                try? await LoopActor.sleep(for: .milliseconds(pause * (0.5 + jitter())))
                pause = min(pause * 1.5, 250)
            }
        }
        return standingIn(previous, for: await assume())
    }

    private func standingIn(
        _ previous: VendedSession?, for result: CredentialCache.Result
    ) -> (CredentialCache.Result, CacheLabel) {
        guard let previous, case .failure(.unavailable) = result, previous.mayStandIn(at: now()) else {
            return (result, .miss)
        }
        return (.success(previous), .previous)
    }

    private enum LookupResult {
        /// Not the one that was known.
        case entry([UInt8])
        /// The lock is ours.
        case taken
        /// Another has it.
        case busy
    }

    private func lookUp(_ key: String, besides mark: String, token: String) async throws(RedisError) -> LookupResult {
        let call = Self.lookScript.call(
            keys: [key, key + ":lock"], arguments: [mark, token, String(lockLifetime.milliseconds)])
        switch try await redis.run(call) {
        case .text(let entry): return .entry(entry)
        case .integer(1): return .taken
        case .integer, .array, .null, .status, .error: return .busy
        }
    }

    /// Puts what came down for the others, if it came, and lets the lock go.
    private func finish(
        _ key: String, _ sharedKey: SharedCredentialKey, _ token: String, _ result: CredentialCache.Result
    ) async {
        var arguments = [token]
        if case .success(let vended) = result {
            let milliseconds = Int(vended.role.expiration.timeIntervalSince(now()) * 1000)
            if milliseconds > 0 { arguments += [seal.seal(vended, for: sharedKey), String(milliseconds)] }
        }
        do throws(RedisError) {
            _ = try await redis.run(Self.finishScript.call(keys: [key, key + ":lock"], arguments: arguments))
        } catch {
            onFailure?(error)
        }
    }

    /// An entry other than the known one, else the lock, else nothing.
    static let lookScript = RedisScript(
        text: """
            local entry = redis.call('GET', KEYS[1])
            if entry and (ARGV[1] == '' or redis.sha1hex(entry) ~= ARGV[1]) then return entry end
            if redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return 1 end
            return 0
            """)

    static let finishScript = RedisScript(
        text: """
            if #ARGV == 3 then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
            if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
            return 1
            """)
}

/// Where a user's credentials are kept for all workers, and what they are tied to.
struct SharedCredentialKey: Sendable, Hashable {
    let user: UserID
    /// All else that tells credentials apart: role, scope, tier, lifetime, what is opened of other users' folders.
    let name: String

    init(user: UserID, name: String) {
        self.user = user
        self.name = name
    }

    init(user: UserID, role: String, grant: Grant) {
        self.init(
            user: user,
            name: "\(role)\n\(grant.scope.identity)\n\(grant.tier)\n\(grant.lifetime.milliseconds)"
                + (grant.shared.isEmpty ? "" : "\n\(grant.shared.identity)"))
    }

    /// In braces what decides a cluster's slot, so that entry and lock are on one server.
    func key(prefix: String) -> String {
        "\(prefix)cred:{\(user.text)}:\(Base64URL.encode(SHA256.hash(Array(name.utf8)).prefix(18)))"
    }

    /// An entry opens only where it was sealed: it cannot be moved to another user, nor to a wider scope.
    var context: [UInt8] { Array("cloakroom credentials 1\n\(user.text)\n\(name)".utf8) }
}

/// Credentials as they are kept outside the process: sealed, in base64url.
struct CredentialSeal: Sendable {
    /// The first seals, all open: a new key is put first, and the old one is removed a lifetime later.
    let keys: [SealingKey]

    /// - Precondition: there is a key.
    func seal(_ vended: VendedSession, for sharedKey: SharedCredentialKey) -> String {
        Base64URL.encode(keys[0].seal(Self.encoded(vended), context: sharedKey.context))
    }

    /// - Parameter jitter: 0…1, how late the credentials are refreshed.
    /// - Returns: `nil` for what was sealed for another place, with another key, or not sealed at all.
    func open(_ text: [UInt8], for sharedKey: SharedCredentialKey, jitter: Double) -> VendedSession? {
        guard let sealed = Base64URL.decode(text) else { return nil }
        let context = sharedKey.context
        for key in keys {
            if let bytes = key.open(sealed, context: context) { return Self.decoded(bytes, jitter: jitter) }
        }
        return nil
    }

    private static func encoded(_ vended: VendedSession) -> [UInt8] {
        let credentials = vended.role.credentials
        var writer = JSONWriter(capacity: 2048)
        writer.beginObject()
        for (name, value) in [
            ("accessKeyID", credentials.accessKeyID), ("secretAccessKey", credentials.secretAccessKey.reveal()),
            ("sessionToken", credentials.sessionToken?.reveal() ?? ""), ("session", vended.sessionName),
            ("scope", vended.scope), ("scopeDigest", vended.scopeDigest),
        ] {
            writer.name(name)
            writer.string(value)
        }
        writer.plainName("issued")
        writer.integer(milliseconds(vended.issued))
        writer.plainName("expiration")
        writer.integer(milliseconds(vended.role.expiration))
        writer.endObject()
        return writer.bytes
    }

    private static func decoded(_ bytes: [UInt8], jitter: Double) -> VendedSession? {
        guard let object = (try? JSON(parsing: bytes))?.object,
            let accessKeyID = object["accessKeyID"]?.string, let secret = object["secretAccessKey"]?.string,
            let token = object["sessionToken"]?.string, let session = object["session"]?.string,
            let scope = object["scope"]?.string, let digest = object["scopeDigest"]?.string,
            let issued = object["issued"]?.integer, let expiration = object["expiration"]?.integer
        else { return nil }
        let role = AssumedRole(
            accessKeyID: accessKeyID, secretAccessKey: Secret(secret), sessionToken: Secret(token),
            expiration: date(expiration))
        return VendedSession(
            role: role, sessionName: session, issued: date(issued), scope: scope, scopeDigest: digest, jitter: jitter)
    }

    private static func milliseconds(_ date: Date) -> Int { Int((date.timeIntervalSince1970 * 1000).rounded(.down)) }
    private static func date(_ milliseconds: Int) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
