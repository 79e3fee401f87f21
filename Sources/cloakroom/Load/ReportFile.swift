import CloakroomLoop
import Glibc

/// A file for the report of a run, opened before it: a path that cannot be written is noticed before a load is sent.
final class ReportFile {
    private let path: String
    private let descriptor: Descriptor

    /// Makes the file where there is none. What is in it stays until ``write(_:)``.
    init(path: String) throws(EarlyExit) {
        self.path = path
        do throws(SystemError) {
            descriptor = try Descriptor(checking: open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666))
        } catch {
            throw .usage("\(path) cannot be written: \(error)")
        }
    }

    /// Writes the text in place of what the file holds; to be called once.
    ///
    /// - Returns: whether all of it was written; why not is told on standard error.
    func write(_ text: String) -> Bool {
        // A pipe or a terminal holds nothing.
        _ = ftruncate(descriptor.raw, 0)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor.raw, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                Output.note("\(path) could not be written: \(SystemError())")
                return false
            }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
