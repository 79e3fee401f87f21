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

    var body: [UInt8] { bytes("Cloakroom message body 1") }

    /// - Parameter index: of the chunk, from 0.
    func chunk(_ index: Int, isLast: Bool, of file: AttachmentFile) -> [UInt8] {
        bytes("Cloakroom attachment 1") + Array(file.rawValue.utf8) + Int64(index).bigEndianBytes + [isLast ? 1 : 0]
    }

    private func bytes(_ purpose: String) -> [UInt8] {
        Array(purpose.utf8) + [0] + conversation.bigEndianBytes + message.bigEndianBytes
    }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
