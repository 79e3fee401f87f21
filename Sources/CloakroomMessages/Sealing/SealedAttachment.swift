import CloakroomCrypto
import CloakroomKit

/// A sealed file that is read a chunk at a time.
struct SealedAttachment: ~Copyable {
    private let source: PrivateFile
    private let name: AttachmentFile
    private let key: SealingKey
    private let context: SealingContext
    private let byteCount: Int
    /// Of the next chunk; `nil` after the last.
    private var offset: Int? = 1
    private var index = 0

    init(
        _ source: consuming PrivateFile, named name: AttachmentFile, key: SealingKey, context: SealingContext
    ) throws(CloakroomError) {
        let byteCount = try Self.converted { () throws(PrivateFolderError) in try source.byteCount() }
        let version = try Self.converted { () throws(PrivateFolderError) in try source.read(at: 0, count: 1) }
        guard byteCount > 0, version == [SealedAttachments.version] else { throw Self.damaged }
        self.source = source
        self.name = name
        self.key = key
        self.context = context
        self.byteCount = byteCount
    }

    /// The next 64 KiB, or those that are left; `nil` at the end.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when it was sealed with another key or for
    ///   another message, or changed since; ``CloakroomError/Code/cancelled``.
    mutating func next() throws(CloakroomError) -> [UInt8]? {
        guard let offset else { return nil }
        guard !Task.isCancelled else { throw CloakroomError.cancelled }
        let isLast = byteCount - offset <= SealedAttachments.sealedChunkByteCount
        let count = min(SealedAttachments.sealedChunkByteCount, byteCount - offset)
        let sealed: [UInt8]
        do throws(PrivateFolderError) { sealed = try source.read(at: offset, count: count) } catch {
            throw CloakroomError(error, of: "the attachments")
        }
        guard let chunk = key.open(sealed, context: context.chunk(index, isLast: isLast, of: name)) else {
            throw Self.damaged
        }
        self.offset = isLast ? nil : offset + count
        index += 1
        return chunk
    }

    private static let damaged = CloakroomError(.unreadableFile, "an attachment is damaged, or another message's")

    private static func converted<Value>(
        _ work: () throws(PrivateFolderError) -> Value
    ) throws(CloakroomError) -> Value {
        do throws(PrivateFolderError) { return try work() } catch { throw CloakroomError(error, of: "the attachments") }
    }
}
