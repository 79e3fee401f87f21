/// Why the file of `audit.file` cannot be written.
package struct AuditFileError: Error, Equatable, CustomStringConvertible {
    /// The file, or the folder that it would be made in.
    let path: String
    /// The system's word.
    let reason: String

    package init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    package var description: String {
        "audit.file: \(path): \(reason); create the folder, and let the worker's user write to it"
    }

    package var finding: Finding {
        CheckName.settings.error(
            "audit.file cannot be written: \(path): \(reason)",
            why: "without its audit the worker issues nothing: serve does not start",
            advice: "create the folder, let the worker's user write to it, and run the doctor as that user",
            command: "cloakroom check FILE")
    }
}
