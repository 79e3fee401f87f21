/// How a supervisor was started, and so how a program is started to go on in its place.
struct SupervisorCommandLine: Sendable {
    let listen: ListenPattern
    let settingsFile: String

    /// In place of the descriptor of a ``SupervisorState``: whether the program could take the one in ``trialDescriptor``.
    static let trial = "trial"
    static let trialDescriptor: Int32 = 3

    /// - Parameter state: a descriptor, or ``trial``.
    func arguments(resuming state: String) -> [String] {
        [
            CommandLine.arguments[0], "serve", "--workers", String(listen.addresses.count), "--listen", listen.text,
            "--resume", state, settingsFile,
        ]
    }
}
