/// One request to a cold tier, as a test's gate sees it.
package struct TierCall: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case identity, availability, put, verify, fetch, delete, list
        case putThumbnail, thumbnail, deleteThumbnail
        case belongings, documents, putDocument, document, deleteDocument
    }

    /// A call passes its gate twice.
    package enum Moment: String, Sendable, Hashable {
        /// Nothing has happened: what fails here did not reach the store.
        case before
        /// The store has done it: what fails here is a lost response.
        case after
    }

    package var device: String
    package var kind: Kind
    /// The MD5 of the photo in hexadecimal, or the document's name; empty for calls that are about neither.
    package var subject: String

    package init(device: String, kind: Kind, subject: String = "") {
        self.device = device
        self.kind = kind
        self.subject = subject
    }
}

/// What a call waits for, and how it fails.
package typealias TierGate = @Sendable (TierCall, TierCall.Moment) async throws -> Void
