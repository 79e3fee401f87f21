import CloakroomCrypto

/// All keys of a storage, as they are in the one file that has them.
struct MessageKeyTable: Sendable {
    /// By conversation, then by slot.
    private(set) var keys: [Int64: [DeadlineSlot: SealingKey]] = [:]
    /// Whether a file under the same master key has held keys that were dropped since.
    var isStale = false
    /// Deletions that the database does not say yet: of each conversation the last message that is deleted, with all
    /// before it.
    var deletions: [Int64: Int64] = [:]

    init() {}

    subscript(id: MessageKeyID) -> SealingKey? {
        get { keys[id.conversation]?[id.slot] }
        set {
            keys[id.conversation, default: [:]][id.slot] = newValue
            if keys[id.conversation]?.isEmpty == true { keys[id.conversation] = nil }
        }
    }

    /// Of the file, in bytes.
    var byteCount: Int {
        keys.values.reduce(30 + (deletions.isEmpty ? 0 : 4 + deletions.count * 16)) { $0 + 12 + $1.count * 40 }
    }

    var ids: [MessageKeyID] {
        keys.flatMap { conversation, slots in slots.keys.map { MessageKeyID(conversation: conversation, slot: $0) } }
    }

    // MARK: The file

    /// Of the longest file that is read: some 1.6 million keys.
    static let maximumByteCount = 64 << 20

    /// The first byte of the file.
    static let version: UInt8 = 1
    private static let context = Array("Cloakroom message keys 1".utf8)

    private static let staleFlag: UInt8 = 1
    private static let deletionsFlag: UInt8 = 2

    /// Version, then sealed: flags; with one of them the number of deletions, and each message behind its conversation; and
    /// for each conversation its row, the number of its keys, and each key behind its slot. Numbers are big endian.
    func sealed(under master: SealingKey) -> [UInt8] {
        var bytes = [(isStale ? Self.staleFlag : 0) | (deletions.isEmpty ? 0 : Self.deletionsFlag)]
        bytes.reserveCapacity(byteCount)
        if !deletions.isEmpty {
            bytes += UInt32(deletions.count).bigEndianBytes
            for (conversation, through) in deletions { bytes += conversation.bigEndianBytes + through.bigEndianBytes }
        }
        for (conversation, slots) in keys {
            bytes += conversation.bigEndianBytes
            bytes += UInt32(slots.count).bigEndianBytes
            for (slot, key) in slots {
                bytes += slot.rawValue.bigEndianBytes
                bytes += key.reveal()
            }
        }
        return [Self.version] + master.seal(bytes, context: Self.context)
    }

    /// - Returns: `nil` for a file under another master key, and for one that is damaged.
    init?(_ file: [UInt8], under master: SealingKey) {
        guard file.first == Self.version, let bytes = master.open(file.dropFirst(), context: Self.context),
            let flags = bytes.first, flags & ~(Self.staleFlag | Self.deletionsFlag) == 0
        else { return nil }
        isStale = flags & Self.staleFlag != 0
        var rest = bytes.dropFirst()
        if flags & Self.deletionsFlag != 0 {
            guard let count = UInt32(takingFrom: &rest), count > 0, Int(count) <= rest.count / 16 else { return nil }
            for _ in 0..<count {
                guard let conversation = Int64(takingFrom: &rest), let through = Int64(takingFrom: &rest),
                    deletions.updateValue(through, forKey: conversation) == nil
                else { return nil }
            }
        }
        while !rest.isEmpty {
            guard let conversation = Int64(takingFrom: &rest), let count = UInt32(takingFrom: &rest),
                count > 0, Int(count) <= rest.count / 40
            else { return nil }
            var slots: [DeadlineSlot: SealingKey] = [:]
            slots.reserveCapacity(Int(count))
            for _ in 0..<count {
                guard let slot = Int64(takingFrom: &rest),
                    let key = SealingKey(Array(rest.prefix(SealingKey.byteCount)))
                else { return nil }
                rest = rest.dropFirst(SealingKey.byteCount)
                slots[DeadlineSlot(rawValue: slot)] = key
            }
            guard slots.count == Int(count), keys.updateValue(slots, forKey: conversation) == nil else { return nil }
        }
    }
}

extension FixedWidthInteger {
    /// Big endian; `nil` when there are too few bytes.
    fileprivate init?(takingFrom bytes: inout ArraySlice<UInt8>) {
        let count = Self.bitWidth / 8
        guard bytes.count >= count else { return nil }
        self = bytes.prefix(count).reduce(0) { $0 << 8 | Self($1) }
        bytes = bytes.dropFirst(count)
    }
}
