/// Which key seals a message: that of its conversation and of its deadline's slot.
struct MessageKeyID: Sendable, Hashable {
    /// The row of the conversation.
    let conversation: Int64
    let slot: DeadlineSlot

    init(conversation: Int64, slot: DeadlineSlot) {
        self.conversation = conversation
        self.slot = slot
    }
}

/// What a sealed body or file is bound to: it opens nowhere else.
struct SealingContext: Sendable, Hashable {
    let conversation: Int64
    /// The row of the message.
    let message: Int64

    var body: [UInt8] { bytes(Self.bodyPurpose) }

    /// - Parameter index: of the chunk, from 0.
    func chunk(_ index: Int, isLast: Bool, of file: AttachmentFile) -> [UInt8] {
        bytes(Self.chunkPurpose) + Array(file.rawValue.utf8) + Int64(index).bigEndianBytes + [isLast ? 1 : 0]
    }

    private static let bodyPurpose = Array("Cloakroom message body 1".utf8)
    private static let chunkPurpose = Array("Cloakroom attachment 1".utf8)

    /// Without arrays in between: it is made for each body.
    private func bytes(_ purpose: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(purpose.count + 17)
        bytes.append(contentsOf: purpose)
        bytes.append(0)
        withUnsafeBytes(of: conversation.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: message.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
