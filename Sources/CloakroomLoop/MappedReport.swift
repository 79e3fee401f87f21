import CloakroomCLinux

/// Numbers and a text that one process writes over and over, in a file that others map: they read them whole, and neither
/// side waits for the other.
@safe package final class MappedReport: @unchecked Sendable {
    /// What was written last.
    package struct Content: Sendable {
        /// In ``Monotonic`` nanoseconds.
        package let instant: UInt64
        package let numbers: [UInt64]
        package let text: [UInt8]
    }

    /// The writer's turn, then the instant and how many numbers and bytes of text follow.
    private static let headWords = 4
    /// A file that is larger is none of ours.
    private static let maximumBytes = 1 << 18

    package let path: String
    // Written by this process alone, read by others through atomic operations.
    private let base: UnsafeMutablePointer<UInt64>
    private let count: Int

    /// - Parameters:
    ///   - path: a file of this process alone; one that is there is replaced.
    ///   - numbers: how many there will be at most.
    ///   - textBytes: how long the text will be at most.
    package init(path: String, numbers: Int, textBytes: Int) throws(SystemError) {
        self.path = path
        count = Self.headWords + numbers + (textBytes + 7) / 8
        precondition(count * 8 <= Self.maximumBytes)
        _ = unsafe unlink(path)
        let file = try Descriptor(
            checking: unsafe cloakroom_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640))
        // With room for all of it: where the medium is full, a write into the mapping would end the process.
        let full = posix_fallocate(file.raw, 0, count * 8)
        guard full == 0, let address = unsafe cloakroom_map(count * 8, PROT_READ | PROT_WRITE, file.raw) else {
            let error = full == 0 ? SystemError() : SystemError(code: full)
            _ = unsafe unlink(path)
            throw error
        }
        unsafe base = address.bindMemory(to: UInt64.self, capacity: count)
    }

    deinit { unsafe munmap(base, count * 8) }

    /// - Precondition: both fit.
    package func write(_ numbers: [UInt64], _ text: [UInt8], at instant: UInt64 = Monotonic.now) {
        var words = [instant, UInt64(numbers.count), UInt64(text.count)] + numbers
        words.reserveCapacity(words.count + (text.count + 7) / 8)
        for start in stride(from: 0, to: text.count, by: 8) {
            var word: UInt64 = 0
            for (place, byte) in text[start..<min(start + 8, text.count)].enumerated() {
                word |= UInt64(byte) << UInt64(8 * place)
            }
            words.append(word)
        }
        precondition(words.count < count)
        unsafe words.withUnsafeBufferPointer { words in
            if let first = words.baseAddress { unsafe cloakroom_report_write(base, first, words.count) }
        }
    }

    /// Others find nothing from now on.
    package func remove() { _ = unsafe unlink(path) }

    /// - Returns: `nil` for a file that is none of ours, or that nothing was written to.
    package static func read(_ path: String) -> Content? {
        guard let file = try? Descriptor(checking: unsafe cloakroom_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0))
        else { return nil }
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else { return nil }
        let count = Int(status.st_size) / 8
        guard count > headWords, count * 8 <= maximumBytes,
            let address = unsafe cloakroom_map(count * 8, PROT_READ, file.raw)
        else { return nil }
        defer { unsafe munmap(address, count * 8) }
        let base = unsafe address.bindMemory(to: UInt64.self, capacity: count)
        // A writer takes microseconds; one that ended while it wrote never ends its turn.
        for _ in 1...3 {
            var isWhole = false
            let words = unsafe [UInt64](unsafeUninitializedCapacity: count - 1) { words, written in
                guard let first = words.baseAddress else { return }
                unsafe isWhole = cloakroom_report_read(base, first, count - 1) != 0
                written = count - 1
            }
            if isWhole { return content(of: words) }
        }
        return nil
    }

    private static func content(of words: [UInt64]) -> Content? {
        let head = headWords - 1
        guard let numbers = Int(exactly: words[1]), let bytes = Int(exactly: words[2]), numbers <= words.count - head,
            bytes <= (words.count - head - numbers) * 8
        else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(bytes + 8)
        for word in words[(head + numbers)...] where text.count < bytes {
            for place in 0..<8 { text.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * place))) }
        }
        text.removeLast(text.count - bytes)
        return Content(instant: words[0], numbers: Array(words[head..<head + numbers]), text: text)
    }
}
