import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// All that has to be known of a multipart upload of Companion's wire: it travels, sealed, in the upload's id.
///
/// How long the object will be, Uppy does not say, so this is no ``UploadTicket``, and neither opens as the other.
struct CompanionTicket: Sendable, Equatable {
    let objectKey: String
    /// S3's own.
    let uploadID: String
    /// In whole seconds.
    let expiration: Date
}

extension TicketSeal {
    /// - Precondition: there is a key.
    func id(_ ticket: CompanionTicket, of user: UserID) -> String {
        var writer = JSONWriter(capacity: 384)
        writer.beginObject()
        writer.plainName("key")
        writer.string(ticket.objectKey)
        writer.plainName("upload")
        writer.string(ticket.uploadID)
        writer.plainName("end")
        writer.integer(Int(ticket.expiration.timeIntervalSince1970))
        writer.endObject()
        return seal(writer.bytes, context: Self.companionContext(user))
    }

    /// - Returns: `nil` for an id that was altered, invented, sealed for another user or with another key, or has ended.
    func companionTicket(_ id: String, of user: UserID, at now: Date) -> CompanionTicket? {
        guard let bytes = open(id, context: Self.companionContext(user)),
            let object = (try? JSON(parsing: bytes))?.object,
            let key = object["key"]?.string, let upload = object["upload"]?.string, let end = object["end"]?.integer
        else { return nil }
        let expiration = Date(timeIntervalSince1970: Double(end))
        guard now < expiration else { return nil }
        return CompanionTicket(objectKey: key, uploadID: upload, expiration: expiration)
    }

    private static func companionContext(_ user: UserID) -> [UInt8] { Array("companion upload of \(user.text)".utf8) }
}
