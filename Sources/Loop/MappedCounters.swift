import CLinux

/// A row of 64-bit counters in memory that other processes map too: a file of the metrics folder, or a `memfd`.
///
/// Adding is atomic: while a worker is replaced, the old one and the new one count in the same row.
@safe package final class MappedCounters: @unchecked Sendable {
    // Only ever reached through atomic operations.
    private let base: UnsafeMutablePointer<UInt64>
    package let count: Int

    /// - Parameter descriptor: open for reading and writing; made as long as it must be. The mapping outlives it.
    package init(descriptor: Int32, count: Int) throws(SystemError) {
        let size = count * MemoryLayout<UInt64>.size
        guard ftruncate(descriptor, size) == 0 else { throw SystemError() }
        guard let address = unsafe cloakroom_map(size, PROT_READ | PROT_WRITE, descriptor) else { throw SystemError() }
        unsafe base = address.bindMemory(to: UInt64.self, capacity: count)
        self.count = count
    }

    /// - Parameter path: a file of counters; created, with zeros, if there is none.
    package convenience init(path: String, count: Int) throws(SystemError) {
        let file = try Descriptor(checking: unsafe cloakroom_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o640))
        try self.init(descriptor: file.raw, count: count)
    }

    /// Counters that nobody else sees.
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

/// Memory without a name, for as long as somebody holds it.
package final class SharedMemory: Sendable {
    private let descriptor: Descriptor

    fileprivate init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// The descriptor is open while `body` runs; a bare number would not keep it so.
    package func withDescriptor<Value, Failure: Error>(
        _ body: (Int32) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        defer { withExtendedLifetime(self) {} }
        return try body(descriptor.raw)
    }
}
