import Glibc

/// A change that the operator has seen, and has to agree to.
enum Confirmation {
    /// - Returns: `false` where there is no terminal to ask on.
    static func isGiven() -> Bool {
        guard isatty(STDIN_FILENO) == 1 else { return false }
        Output.prompt("Apply? [y/N] ")
        return readLine().map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }
}
