extension UserID {
    /// The user id of a token's subject: the subject itself where that is safe, else `u_` and a UUID made from both.
    ///
    /// No database is needed: the same issuer and subject always give the same id, and SHA-1 spreads others widely.
    package init(issuer: String, subject: String) {
        if let safe = UserID(subject), !safe.looksMapped {
            self = safe
            return
        }
        self.init(mapping: subject, of: issuer)
    }

    /// `u_` and a UUID made of issuer and subject, whatever the subject looks like: never what another issuer's subject
    /// becomes, nor what a plain one may be.
    package init(mapping subject: String, of issuer: String) {
        let issuers = NameBasedUUID(issuer, in: .urls)
        guard let mapped = UserID("u_\(NameBasedUUID(subject, in: issuers))") else {
            preconditionFailure("hexadecimal digits are safe")
        }
        self = mapped
    }

    /// A subject of this shape is mapped as well, or it could be chosen to meet the folder of a mapped one.
    private var looksMapped: Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 38, bytes.starts(with: "u_".utf8) else { return false }
        return bytes[16] == UInt8(ascii: "5")
            && bytes.dropFirst(2).allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
