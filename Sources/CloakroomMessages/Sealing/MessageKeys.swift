import CloakroomCrypto
import CloakroomKit
import Foundation

/// The keys of stored messages: a random one for each conversation and slot of deadlines.
///
/// All are in the file `keys`, sealed under a master key in the vault. A key that was dropped is out of reach once
/// ``rotate(now:at:)`` has returned: the file is sealed anew under another master key, which replaces the former one in the
/// vault, so that what disks and backups keep of earlier files cannot be opened.
///
/// For one actor, of one process: calls are made in its isolation, also while a rotation waits for the vault.
final class MessageKeys {
    let folder: PrivateFolder
    let vault: any KeyVault
    var table: MessageKeyTable
    /// What `keys` is sealed under, and what the vault holds while there is no `next`.
    var master: SealingKey
    /// What `keys.next` is sealed under, while the vault holds this or `master`: a rotation that has begun.
    var next: SealingKey?
    /// Whether a file under `next` has held keys that were dropped since.
    var isNextStale = false
    /// `false` while a deletion of the table is in no file that is sure to be read.
    var areDeletionsWritten = true
    var isRotating = false
    /// Those who wait for the end of a rotation.
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// Then nothing is sealed any longer.
    private(set) var isErased = false
    /// Then nothing is written any longer: the files may be another process's.
    private var isClosed = false
    var lastRotation: ContinuousClock.Instant?
    var reserveByteCount = 0
    private let sealer = Sealer()
    /// Random bytes of which none was used: to get them one nonce at a time takes as long as to seal.
    private var nonces: ArraySlice<UInt8> = []

    static let file = "keys"
    static let nextFile = "keys.next"

    init(folder: consuming PrivateFolder, vault: any KeyVault, table: MessageKeyTable, master: SealingKey) {
        self.folder = folder
        self.vault = vault
        self.table = table
        self.master = master
    }

    // MARK: Keys

    /// Makes the keys that are not there. When it returns, they survive a loss of power: seal only then.
    ///
    /// One write for all of them, and none when all are there: give it those of a whole batch.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``; none was made.
    func prepare(_ ids: some Sequence<MessageKeyID>) throws(CloakroomError) {
        let missing = Set(ids.lazy.filter { self.table[$0] == nil })
        guard !missing.isEmpty else { return }
        try requireOpen()
        for id in missing { table[id] = .random() }
        do {
            try write()
        } catch {
            for id in missing { table[id] = nil }
            throw error
        }
        keepReserve()
    }

    /// - Returns: `nil` for a key that was dropped, or never made.
    func key(_ id: MessageKeyID) -> SealingKey? { table[id] }

    /// - Throws: ``CloakroomError/Code/storeFailed`` without a key: see ``prepare(_:)``.
    func seal(
        _ body: some Collection<UInt8>, message: Int64, under id: MessageKeyID
    ) throws(CloakroomError) -> [UInt8] {
        guard let key = table[id] else { throw CloakroomError(.storeFailed, "a message has no key") }
        let context = SealingContext(conversation: id.conversation, message: message).body
        return sealer.seal(body, with: key, context: context, nonce: freshNonce())
    }

    private func freshNonce() -> [UInt8] {
        if nonces.isEmpty { nonces = randomBytes(256 * SealingKey.nonceByteCount)[...] }
        defer { nonces = nonces.dropFirst(SealingKey.nonceByteCount) }
        return Array(nonces.prefix(SealingKey.nonceByteCount))
    }

    /// - Returns: `nil` when its key was dropped, when it was sealed for another message, or is damaged.
    func open(_ sealed: some Collection<UInt8>, message: Int64, under id: MessageKeyID) -> [UInt8]? {
        table[id]?.open(sealed, context: SealingContext(conversation: id.conversation, message: message).body)
    }

    /// Seals a body with another key, as for a message whose deadline fell.
    ///
    /// - Returns: `nil` when it does not open.
    /// - Throws: ``CloakroomError/Code/storeFailed`` without the new key: see ``prepare(_:)``.
    func reseal(
        _ sealed: some Collection<UInt8>, message: Int64, from former: MessageKeyID, to new: MessageKeyID
    ) throws(CloakroomError) -> [UInt8]? {
        guard let body = open(sealed, message: message, under: former) else { return nil }
        return try seal(body, message: message, under: new)
    }

    // MARK: Dropping

    /// Drops keys: what they sealed cannot be opened by this process any longer, and by none after ``rotate(now:at:)``.
    func drop(_ ids: some Sequence<MessageKeyID>) {
        for id in ids where table[id] != nil {
            table[id] = nil
            table.isStale = true
            isNextStale = next != nil
        }
    }

    /// Drops all keys but those that messages are sealed with, such as those that were made for one that was never
    /// committed.
    func keepOnly(_ live: Set<MessageKeyID>) {
        drop(table.ids.filter { !live.contains($0) })
    }

    /// How long until dropped keys are put out of reach: rotations are a minute apart, but for a deletion that is written
    /// nowhere. `nil` while there are none.
    func rotationDelay(at now: ContinuousClock.Instant) -> Duration? {
        guard areDeletionsWritten else { return .zero }
        guard table.isStale || next != nil else { return nil }
        return lastRotation.map { max(.zero, .seconds(60) - (now - $0)) } ?? .zero
    }

    // MARK: The file

    /// Writes what is in the table under all master keys that the vault may hold.
    func write() throws(CloakroomError) {
        if let next { try write(to: Self.nextFile, under: next, isStale: isNextStale) }
        try write(to: Self.file, under: master, isStale: table.isStale)
    }

    func write(to name: String, under key: SealingKey, isStale: Bool) throws(CloakroomError) {
        var table = table
        table.isStale = isStale
        let bytes = table.sealed(under: key)
        try converted { () throws(PrivateFolderError) in
            try folder.write(bytes, to: name)
            try folder.syncNames()
        }
    }

    /// The new file takes the place of the former one, and its master key that of the former one.
    func complete(_ next: SealingKey) throws(CloakroomError) {
        do throws(PrivateFolderError) { try folder.rename(Self.nextFile, to: Self.file) } catch {
            // An earlier attempt has renamed it, and failed then.
            guard error.number == ENOENT else { throw Self.failure(error) }
            try write(to: Self.nextFile, under: next, isStale: isNextStale)
            try converted { () throws(PrivateFolderError) in try folder.rename(Self.nextFile, to: Self.file) }
        }
        master = next
        table.isStale = isNextStale
        if !isNextStale { areDeletionsWritten = true }
        self.next = nil
        isNextStale = false
    }

    /// Writes nothing any longer.
    ///
    /// - Returns: when a rotation that waits for the vault has ended.
    func close() async {
        isClosed = true
        while isRotating { await withCheckedContinuation { waiting.append($0) } }
    }

    /// Forgets all keys: nothing can be sealed or opened any longer.
    func forget() {
        isErased = true
        table = MessageKeyTable()
        next = nil
        isNextStale = false
        areDeletionsWritten = true
    }

    func requireOpen() throws(CloakroomError) {
        if isClosed { throw CloakroomError(.storeFailed, "the messages were closed") }
        if isErased { throw CloakroomError(.storeFailed, "the keys of messages were erased") }
    }

    func converted<Value>(_ work: () throws(PrivateFolderError) -> Value) throws(CloakroomError) -> Value {
        do throws(PrivateFolderError) { return try work() } catch { throw Self.failure(error) }
    }

    private static func failure(_ error: PrivateFolderError) -> CloakroomError {
        CloakroomError(error, of: "the keys of messages")
    }
}
