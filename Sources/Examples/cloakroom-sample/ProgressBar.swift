import CloakroomKit
import Foundation

/// Progress as one line of standard error that is rewritten, or nothing where that is no terminal.
enum ProgressBar {
    private static let width = 30

    /// Shows each value until the sequence ends.
    static func show(_ values: AsyncStream<BackupProgress>) async {
        guard isatty(STDERR_FILENO) == 1 else { return }
        for await value in values {
            let filled = Int(value.fraction * Double(width))
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
            let name = value.current?.lastPathComponent.prefix(30) ?? ""
            // CR, and EL (ECMA-48): in place of what stood there.
            write("\r\u{1B}[K\(bar) \(value.filesDone)/\(value.filesTotal)  \(name)")
        }
        write("\r\u{1B}[K")
    }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
