/// Why there is no connection through TLS to a server.
package struct RedisTLSFailure: Sendable, Equatable {
    package enum Cause: Int32, Sendable {
        /// None of the others.
        case other
        /// The server wants a certificate of its clients, and none is sent.
        case certificateRequired
        /// What the server sends is no TLS.
        case noTLS
        /// The server's certificate is of an authority that is not trusted, or not valid.
        case untrusted
        /// The server's certificate is for another name.
        case otherName
        /// The server has not sent its part in time.
        case silence
    }

    package let cause: Cause
    /// OpenSSL's own words for it, such as `hostname mismatch`: texts of the library's, with nothing of what was sent.
    package let text: String

    package init(_ cause: Cause, _ text: String) {
        self.cause = cause
        self.text = text
    }
}
