import CLinux

/// A row of 64-bit counters in memory that other processes can map too: a file of the metrics folder, or a `memfd`.
///
/// One process writes, any number read. Aligned 64-bit loads and stores are whole on the machines we build for.
@safe package final class MappedCounters: @unchecked Sendable {
    // Written by the loop's thread of the one process that owns the row.
    private let base: UnsafeMutablePointer<UInt64>
    package let count: Int

    /// - Parameter descriptor: a file that is `count` × 8 bytes long at least, open for reading, and for writing if
    ///   `writable`. The mapping outlives the descriptor.
    package init(descriptor: Int32, count: Int, writable: Bool = true) throws(SystemError) {
        let protection = writable ? PROT_READ | PROT_WRITE : PROT_READ
        let size = count * MemoryLayout<UInt64>.size
        guard let address = unsafe cloakroom_map(size, protection, descriptor) else { throw SystemError() }
        unsafe base = address.bindMemory(to: UInt64.self, capacity: count)
        self.count = count
    }

    deinit { unsafe munmap(base, count * MemoryLayout<UInt64>.size) }

    package subscript(index: Int) -> UInt64 {
        get {
            precondition(index < count)
            return unsafe base[index]
        }
        set {
            precondition(index < count)
            unsafe base[index] = newValue
        }
    }
}
