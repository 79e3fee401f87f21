import Glibc

/// Lines to standard output and standard error.
enum Output {
    /// Opens those of the three standard descriptors that are closed: otherwise the next thing that is opened, such as
    /// a socket, would take the number, and be written to as standard error. What is written to `/dev/full` fails.
    static func occupyStandardDescriptors() {
        for descriptor in 0...2 where fcntl(Int32(descriptor), F_GETFD) < 0 { _ = open("/dev/full", O_RDWR) }
    }

    @discardableResult
    static func print(_ text: String) -> ExitStatus {
        write(text, to: STDOUT_FILENO)
    }

    static func fail(_ text: String) -> ExitStatus {
        write("cloakroom: \(text)", to: STDERR_FILENO)
        return .failure
    }

    /// For people, beside what is written for programs.
    static func note(_ text: String) { write("cloakroom: \(text)", to: STDERR_FILENO) }

    /// In place of the terminal's last line (ECMA-48, EL).
    static func overwrite(_ text: String) { write("\r\u{1B}[K" + text, to: STDERR_FILENO, end: "") }

    /// A question on the terminal; the answer follows on the same line.
    static func prompt(_ text: String) { write(text, to: STDERR_FILENO, end: "") }

    static func usage(_ text: String, see command: String) -> ExitStatus {
        write("cloakroom: \(text); see: \(command)", to: STDERR_FILENO)
        return .usage
    }

    @discardableResult
    private static func write(_ text: String, to descriptor: Int32, end: String = "\n") -> ExitStatus {
        var rest = Array((text + end).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return .failure }
            rest = rest.dropFirst(count)
        }
        return .success
    }
}
