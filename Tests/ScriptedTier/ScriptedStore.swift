import CloakroomCrypto
import CloakroomKit
package import CloakroomTiers
package import Foundation
import Synchronization

/// A store in memory that any number of devices share, each by a ``ScriptedTier`` of its own.
///
/// All of a user's things are under the name of the account. Dates are of the store's own clock.
package final class ScriptedStore: Sendable {
    package struct Object: Sendable, Equatable {
        package var bytes: Data
        package var format: String
        /// Another one for each writing.
        package var tag: String
        package var isArchived = false
        /// A rule is going to delete it then.
        package var expiration: Date?
    }

    package struct Document: Sendable, Equatable {
        package var bytes: Data
        package var modified: Date
        package var isExpiring = false
    }

    /// What one account has.
    package struct Account: Sendable, Equatable {
        /// By MD5 in hexadecimal.
        package var objects: [String: Object] = [:]
        package var thumbnails: [String: Data] = [:]
        package var documents: [String: Document] = [:]

        package var byteCount: Int64 { objects.values.reduce(0) { $0 + Int64($1.bytes.count) } }
    }

    struct State {
        var accounts: [String: Account] = [:]
        var requests: [TierCall.Kind: Int] = [:]
        var log: [TierCall] = []
        var writes = 0
        var peakBytes: Int64 = 0
        var quota: Int64?
        var tellsQuota = false
        var readBacks = 0
    }

    package let clock: TestClock
    /// Whether a proof needs no bytes, as S3's with a SHA-256 of ours. Without it, what was not proven is read back.
    package let showsDigests: Bool
    let state = Mutex(State())

    package init(clock: TestClock = TestClock(), showsDigests: Bool = true) {
        self.clock = clock
        self.showsDigests = showsDigests
    }

    /// What an account has; of an unknown one, nothing.
    package func account(_ name: String = "user") -> Account { state.withLock { $0.accounts[name] ?? Account() } }

    /// Changes what an account has, as an operator, a rule or a fault does it behind the devices' backs.
    package func change<Result: Sendable>(
        _ name: String = "user", _ body: (inout Account) -> sending Result
    ) -> Result {
        state.withLock { body(&$0.accounts[name, default: Account()]) }
    }

    /// In bytes, of each account.
    ///
    /// - Parameter isTold: whether the tier's availability says it.
    package func setQuota(_ bytes: Int64?, isTold: Bool = false) {
        state.withLock { ($0.quota, $0.tellsQuota) = (bytes, isTold) }
    }
}

extension ScriptedStore {
    /// Requests since the beginning, or since ``resetRequests()``.
    package func requests(_ kind: TierCall.Kind) -> Int { state.withLock { $0.requests[kind] ?? 0 } }
    package var requests: [TierCall.Kind: Int] { state.withLock { $0.requests } }
    /// Those that go over the network; the identity is known without.
    package var requestCount: Int {
        requests.filter { $0.key != .identity && $0.key != .availability }.values.reduce(0, +)
    }
    /// Every call, in the order in which the store had them.
    package var log: [TierCall] { state.withLock { $0.log } }
    /// The most bytes of photos that there ever were, of all accounts together.
    package var peakBytes: Int64 { state.withLock { $0.peakBytes } }
    /// Proofs for which a whole object was read.
    package var readBacks: Int { state.withLock { $0.readBacks } }

    package func resetRequests() {
        state.withLock { ($0.requests, $0.log, $0.readBacks) = ([:], [], 0) }
    }

    func count(_ call: TierCall) {
        state.withLock {
            $0.requests[call.kind, default: 0] += 1
            $0.log.append(call)
        }
    }
}

extension ScriptedStore {
    /// Stores what is not there.
    func put(_ bytes: Data, _ photo: PhotoDescriptor, in account: String) throws {
        guard photo.describes(bytes) else {
            throw CloakroomError(.checksumMismatch, "the file does not have the bytes of its descriptor")
        }
        try state.withLock { state in
            var contents = state.accounts[account] ?? Account()
            let key = photo.md5.hexadecimal
            if let object = contents.objects[key] {
                guard object.bytes == bytes else {
                    throw CloakroomError(.photoCollision, "the store has other bytes under \(key)")
                }
                return
            }
            if let quota = state.quota, contents.byteCount + Int64(bytes.count) > quota {
                throw CloakroomError(.storageQuotaExceeded, "the scripted quota is used up")
            }
            state.writes += 1
            contents.objects[key] = Object(bytes: bytes, format: photo.format, tag: "tag-\(state.writes)")
            state.accounts[account] = contents
            state.peakBytes = max(state.peakBytes, state.accounts.values.reduce(0) { $0 + $1.byteCount })
        }
    }

    func verify(_ photo: PhotoDescriptor, in account: String) throws -> ColdProof? {
        let key = photo.md5.hexadecimal
        guard let object = self.account(account).objects[key] else { return nil }
        try object.refuse(at: clock.now, key: key)
        if !showsDigests && photo.provenTag != object.tag { state.withLock { $0.readBacks += 1 } }
        guard photo.describes(object.bytes) else {
            throw CloakroomError(.photoCollision, "the store has other bytes under \(key)")
        }
        return ColdProof(
            identity: Self.identity(of: account), key: "photos/\(account)/\(key).dat", tag: object.tag, date: clock.now)
    }

    static func identity(of account: String) -> TierIdentity { TierIdentity("scripted:\(account)") }
}

extension ScriptedStore.Object {
    /// Throws for what is not going to stay, or cannot be read now.
    fileprivate func refuse(at date: Date, key: String) throws {
        if isArchived { throw CloakroomError(.archived, "\(key) is in an archive class") }
        if let expiration { throw CloakroomError(.photoExpiring, "\(key) is deleted at \(expiration)") }
    }
}

extension PhotoDescriptor {
    /// Whether these are the photo's bytes; where its SHA-256 is not known, as far as the MD5 tells.
    package func describes(_ bytes: Data) -> Bool {
        Int64(bytes.count) == byteCount && MD5.hash(bytes) == md5 && sha256.map { $0 == SHA256.hash(bytes) } ?? true
    }
}
