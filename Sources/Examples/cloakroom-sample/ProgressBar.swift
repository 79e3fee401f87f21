import CloakroomKit
import Foundation

/// Progress as one line of standard error that is rewritten, or nothing where that is no terminal.
enum ProgressBar {
    struct Value: Sendable {
        /// From 0 to 1.
        var fraction: Double
        /// What stands beside the bar, such as `3/60`.
        var label: String
    }

    private static let width = 30

    /// Shows each value until the sequence ends.
    static func show(_ values: AsyncStream<BackupProgress>) async {
        await show(
            values.map {
                let name = $0.current?.lastPathComponent.prefix(30) ?? ""
                return Value(fraction: $0.fraction, label: "\($0.filesDone)/\($0.filesTotal)  \(name)")
            })
    }

    /// Shows what `work` reports, until it returns.
    static func during<Result: Sendable>(
        _ work: (_ report: @escaping @Sendable (Value) -> Void) async throws -> Result
    ) async throws -> Result {
        // Values that were not shown yet are replaced by newer ones.
        let (values, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let bar = Task { await show(values) }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await work { continuation.yield($0) }) } catch { result = .failure(error) }
        continuation.finish()
        await bar.value
        return try result.get()
    }

    private static func show(_ values: some AsyncSequence<Value, Never>) async {
        guard isatty(STDERR_FILENO) == 1 else { return }
        for await value in values {
            let filled = Int(value.fraction * Double(width))
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
            // CR, and EL (ECMA-48): in place of what stood there.
            write("\r\u{1B}[K\(bar) \(value.label)")
        }
        write("\r\u{1B}[K")
    }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}

extension ProgressBar.Value {
    /// So many photos of so many.
    init(_ done: Int, of total: Int) {
        self.init(fraction: total == 0 ? 1 : min(1, Double(done) / Double(total)), label: "\(done)/\(total)")
    }
}
