/// An address we may fetch keys from: https, or plain http to this host alone.
struct IssuerURL: Sendable, Equatable {
    let text: String
    /// Whether it names this host itself; other names are not resolved.
    let isLoopback: Bool

    init?(_ text: String) {
        guard text.utf8.count <= 1024, let origin = WebOrigin(text), origin.rest.first != "?",
            ("A-Za-z0-9._~%&?=:@+,/-" as ASCIIClass).holdsAll(of: origin.rest, count: 0...1024)
        else { return nil }
        self.text = text
        isLoopback = origin.isLoopback
        guard isLoopback || origin.scheme == "https" else { return nil }
    }
}
