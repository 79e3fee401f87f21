/// An address we may fetch keys from: https, or plain http to this host alone.
struct IssuerURL: Sendable, Equatable {
    let text: String
    /// Whether it names this host itself; what other names resolve to is not asked.
    let isLoopback: Bool

    init?(_ text: String) {
        guard text.utf8.count <= 1024,
            let match = text.wholeMatch(
                of:
                    /(https?):\/\/([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:]{2,45}\])(:[0-9]{1,5})?(\/[A-Za-z0-9._~%&?=:@+-\/]*)?/
            )
        else { return nil }
        self.text = text
        isLoopback = Self.isLoopback(match.2)
        guard isLoopback || match.1 == "https" else { return nil }
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        host.lowercased() == "localhost" || host == "[::1]"
            || host.wholeMatch(of: /127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}/) != nil
    }
}
