/// A fault that no system has, put where messages cross from one part to another: a run with one must find it.
enum Plant: String, CaseIterable, Sendable {
    case copyIsNotDone, photoIsNotStored, recordsAreForgotten, sessionIsOfAnother, imagesExpireEarly
    case revocationComesLate, uploadIsDoneEarly, lockHasNoEnd
    case auditComesLate, timeoutIsIgnored, reloadDropsRequests, listingIsShort, sessionIsLong, staleMasterIsTrusted
    case proofIsMadeUp, photosAreNotSynced, namesAreNotSynced
    case purgeIsByLocalClock, policyIsNotHeard, imageGoesWithOneCopy

    var meaning: String {
        switch self {
        case .copyIsNotDone: "S3 says that it has copied an object onto itself, and has not"
        case .photoIsNotStored: "S3 says that it has stored a photo, and forgets it"
        case .recordsAreForgotten: "Redis has no record of any user: what was revoked stays of use"
        case .sessionIsOfAnother: "a session opens another user's folder"
        case .imagesExpireEarly: "the bucket's rule ends images after a day"
        case .revocationComesLate: "a worker reads users' records as they were an hour before"
        case .uploadIsDoneEarly: "a device reads 200 for a photo that S3 never got"
        case .lockHasNoEnd: "Redis sets locks, and what else has one, without their expiry"
        case .auditComesLate: "a line of the audit is written up to ten seconds after the response"
        case .timeoutIsIgnored: "a worker waits 40 seconds for S3 and STS, whatever its deadline is"
        case .reloadDropsRequests: "a reload ends workers at once, with what they have accepted"
        case .listingIsShort: "S3's listings lack their last object"
        case .staleMasterIsTrusted:
            "some workers are told for good that the first master still is one, which takes all writes"
        case .sessionIsLong: "STS is called for twice the lifetime"
        case .proofIsMadeUp: "a device that looks for a photo it has uploaded is told what it sent, and not what S3 has"
        case .photosAreNotSynced: "a disk does not sync the bytes of photos, and says that it has"
        case .namesAreNotSynced: "a disk does not sync the names of photos, and says that it has"
        case .purgeIsByLocalClock: "messages are purged by the device's own clock, which is taken for the server's"
        case .policyIsNotHeard: "a device never gets what others want of their messages"
        case .imageGoesWithOneCopy: "the images of a conversation go from S3 when one user deletes it from one device"
        }
    }

    /// What this run has.
    nonisolated(unsafe) static var current: Plant?

    /// Whether Redis' first master stays one for this client: for every second worker.
    static func trustsStaleMaster(_ client: String) -> Bool {
        current == .staleMasterIsTrusted && client.hasPrefix("w") && client.last.map { "13579".contains($0) } == true
    }

    /// Whether a disk leaves out the syncing of a file or a folder.
    static func isUnsynced(_ path: String, isFolder: Bool) -> Bool {
        switch current {
        case .photosAreNotSynced: !isFolder && (path.contains("/incoming/") || path.contains("/photos/"))
        case .namesAreNotSynced: isFolder && path.hasSuffix("/photos")
        default: false
        }
    }
}
