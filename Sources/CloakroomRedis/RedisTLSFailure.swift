/// Why there is no connection through TLS to a server.
package struct RedisTLSFailure: Sendable, Equatable {
    /// The numbers are those of `cloakroom_tls_failure`.
    package enum Cause: Int32, Sendable {
        /// None of the others.
        case other = 0
        /// The server wants a certificate of its clients, and none is sent.
        case certificateRequired = 1
        /// What the server sends is no TLS.
        case noTLS = 2
        /// The server's certificate is of an authority that is not trusted, or not valid.
        case untrusted = 3
        /// The server's certificate is for another name.
        case otherName = 4
        /// The server has not sent its part in time.
        case silence = 5
    }

    package let cause: Cause
    /// OpenSSL's own words for it, such as `hostname mismatch`: texts of the library's, with nothing of what was sent.
    package let text: String

    package init(_ cause: Cause, _ text: String) {
        self.cause = cause
        self.text = text
    }
}
