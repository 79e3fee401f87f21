import CloakroomCrypto
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// All that has to be known of a multipart upload: it travels, sealed, in the upload's id.
struct UploadTicket: Sendable, Equatable {
    let objectKey: String
    /// S3's own.
    let uploadID: String
    let plan: MultipartLayout
    /// In whole seconds.
    let expiration: Date
}

/// Seals tickets into ids, so that no database has to remember whose upload is whose.
///
/// The user is part of what is sealed, without being in it: another user's id opens no more than an invented one.
struct TicketSeal: Sendable {
    /// The first seals, all open: a new key is put first, and the old one is removed when its last id has expired.
    let keys: [SealingKey]

    /// Longer than any id of ours.
    private static let maximumLength = 4096

    /// - Precondition: there is a key.
    func id(_ ticket: UploadTicket, of user: UserID) -> String {
        var writer = JSONWriter(capacity: 384)
        writer.beginObject()
        writer.plainName("key")
        writer.string(ticket.objectKey)
        writer.plainName("upload")
        writer.string(ticket.uploadID)
        writer.plainName("bytes")
        writer.integer(ticket.plan.byteCount)
        writer.plainName("part")
        writer.integer(ticket.plan.partBytes)
        writer.plainName("end")
        writer.integer(Int(ticket.expiration.timeIntervalSince1970))
        writer.endObject()
        return seal(writer.bytes, context: Self.context(user))
    }

    /// - Precondition: there is a key.
    func seal(_ ticket: [UInt8], context: [UInt8]) -> String {
        Base64URL.encode(keys[0].seal(ticket, context: context))
    }

    /// - Returns: `nil` for an id that was altered, invented, sealed for another user or with another key, or has ended.
    func ticket(_ id: String, of user: UserID, at now: Date) -> UploadTicket? {
        guard let bytes = open(id, context: Self.context(user)), let ticket = Self.read(bytes), now < ticket.expiration
        else { return nil }
        return ticket
    }

    /// - Returns: `nil` for an id that was altered, invented, or sealed with another key or context.
    func open(_ id: String, context: [UInt8]) -> [UInt8]? {
        guard id.utf8.count <= Self.maximumLength, let sealed = Base64URL.decode(Array(id.utf8)) else { return nil }
        return keys.lazy.compactMap { $0.open(sealed, context: context) }.first
    }

    private static func context(_ user: UserID) -> [UInt8] { Array("upload of \(user.text)".utf8) }

    private static func read(_ bytes: [UInt8]) -> UploadTicket? {
        guard let object = (try? JSON(parsing: bytes))?.object, let key = object["key"]?.string,
            let upload = object["upload"]?.string, let count = object["bytes"]?.integer,
            let part = object["part"]?.integer, let plan = MultipartLayout(byteCount: count, partBytes: part),
            let end = object["end"]?.integer
        else { return nil }
        return UploadTicket(
            objectKey: key, uploadID: upload, plan: plan, expiration: Date(timeIntervalSince1970: Double(end)))
    }
}
