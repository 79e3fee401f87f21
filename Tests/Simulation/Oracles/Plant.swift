/// A fault that no system has, put where messages cross from one part to another: a run with one must find it.
enum Plant: String, CaseIterable, Sendable {
    /// S3 says that it has copied an object onto itself, and has not.
    case copyIsNotDone
    /// S3 says that it has stored a photo, and forgets it.
    case photoIsNotStored
    /// Redis has no record of any user: what was revoked stays of use.
    case recordsAreForgotten
    /// A session opens another user's folder.
    case sessionIsOfAnother
    /// Some workers are told for good that the first master still is one, which takes all writes.
    case staleMasterIsTrusted
    /// The bucket's rule ends images after a day.
    case imagesExpireEarly

    /// What this run has.
    nonisolated(unsafe) static var current: Plant?

    /// Whether Redis' first master stays one for this client: for every second worker.
    static func trustsStaleMaster(_ client: String) -> Bool {
        current == .staleMasterIsTrusted && client.hasPrefix("w") && client.last.map { "13579".contains($0) } == true
    }
}
