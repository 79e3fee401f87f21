import CloakroomCLinux

/// A row of 64-bit counters in memory that other processes map too: a file of the metrics folder, or a `memfd`.
///
/// Adding is atomic: while a worker is replaced, the old one and the new one count in the same row.
@safe package final class MappedCounters: @unchecked Sendable {
    // Only ever reached through atomic operations.
    private let base: UnsafeMutablePointer<UInt64>
    package let count: Int

    /// - Parameter descriptor: open for reading and writing; made as long as it must be, and no shorter: a later version may have
    ///   written more. The mapping outlives it.
    package init(descriptor: Int32, count: Int) throws(SystemError) {
        let size = count * MemoryLayout<UInt64>.size
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_size >= size || ftruncate(descriptor, off_t(size)) == 0
        else { throw SystemError() }
        guard let address = unsafe cloakroom_map(size, PROT_READ | PROT_WRITE, descriptor) else { throw SystemError() }
        unsafe base = address.bindMemory(to: UInt64.self, capacity: count)
        self.count = count
    }

    /// - Parameter path: a file of counters; created, with zeros, if there is none.
    /// - Throws: `ENOSPC` on a full file system: a page without room would end the process when it is written.
    package convenience init(path: String, count: Int) throws(SystemError) {
        let file = try Descriptor(checking: unsafe cloakroom_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o640))
        let code = posix_fallocate(file.raw, 0, count * MemoryLayout<UInt64>.size)
        guard code == 0 else { throw SystemError(code: code) }
        try self.init(descriptor: file.raw, count: count)
    }

    /// - Parameter path: a file of counters that is there; as many of them as it holds.
    package convenience init(existing path: String) throws(SystemError) {
        let file = try Descriptor(checking: unsafe cloakroom_open(path, O_RDWR | O_CLOEXEC, 0))
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else { throw SystemError() }
        let count = Int(status.st_size) / MemoryLayout<UInt64>.size
        guard count > 0 else { throw SystemError(code: EINVAL) }
        try self.init(descriptor: file.raw, count: count)
    }

    /// Counters of this process alone.
    package static func anonymous(count: Int) throws(SystemError) -> MappedCounters {
        try shared(count: count).counters
    }

    /// Counters for this process and those that are given the descriptor.
    package static func shared(count: Int) throws(SystemError) -> (counters: MappedCounters, memory: SharedMemory) {
        let memory = SharedMemory(try Descriptor(checking: unsafe cloakroom_memfd("counters")))
        return try memory.withDescriptor { (descriptor) throws(SystemError) in
            (try MappedCounters(descriptor: descriptor, count: count), memory)
        }
    }

    deinit { unsafe munmap(base, count * MemoryLayout<UInt64>.size) }

    package subscript(index: Int) -> UInt64 { unsafe cloakroom_counter_read(base + checked(index)) }

    package func add(_ value: UInt64, at index: Int) {
        _ = unsafe cloakroom_counter_add(base + checked(index), value)
    }

    private func checked(_ index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return index
    }
}

/// Shows other processes that a file is in use, for as long as it is referenced (flock(2)).
package final class FileUse: Sendable {
    private let descriptor: Descriptor

    /// - Parameters:
    ///   - path: of a file that is there.
    ///   - isFirst: called where no other process uses the file, before any does.
    package init(_ path: String, isFirst: () -> Void) throws(SystemError) {
        descriptor = try Descriptor(checking: unsafe cloakroom_open(path, O_RDWR | O_CLOEXEC, 0))
        if flock(descriptor.raw, LOCK_EX | LOCK_NB) == 0 { isFirst() }
        guard flock(descriptor.raw, LOCK_SH) == 0 else { throw SystemError() }
    }

    /// Whether a process uses the file, this one or another.
    package static func isUsed(_ path: String) -> Bool {
        guard let file = try? Descriptor(checking: unsafe cloakroom_open(path, O_RDWR | O_CLOEXEC, 0)) else {
            return false
        }
        return flock(file.raw, LOCK_EX | LOCK_NB) != 0
    }
}

/// Memory without a name, for as long as it is referenced.
package final class SharedMemory: Sendable {
    private let descriptor: Descriptor

    fileprivate init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// - Parameter descriptor: of such memory, that this process had before it ran this program; owned from here on.
    package convenience init(adopting descriptor: Int32) {
        _ = cloakroom_close_on_exec(descriptor, 1)
        self.init(Descriptor(owning: descriptor))
    }

    /// Memory that holds this text, to be read from its start.
    package convenience init(holding text: String) throws(SystemError) {
        let descriptor = try Descriptor(checking: unsafe cloakroom_memfd("text"))
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor.raw, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemError() }
            rest = rest.dropFirst(count)
        }
        self.init(descriptor)
    }

    /// What it holds, at most `limit` bytes of it; `nil` where that is no UTF-8.
    package func text(limit: Int) -> String? {
        var status = stat()
        guard unsafe fstat(descriptor.raw, &status) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: min(limit, Int(status.st_size)))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor.raw, $0.baseAddress, $0.count, 0) }
        return count < 0 ? nil : String(validating: bytes[..<count], as: UTF8.self)
    }

    /// The descriptor is open while `body` runs; a bare number would not keep it so.
    package func withDescriptor<Value, Failure: Error>(
        _ body: (Int32) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        defer { withExtendedLifetime(self) {} }
        return try body(descriptor.raw)
    }
}
