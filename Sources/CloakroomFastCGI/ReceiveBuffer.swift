import CloakroomCLinux
import CloakroomLoop

/// One buffer that every connection receives into, so that idle connections own none.
@LoopActor
@safe final class ReceiveBuffer {
    let capacity: Int
    private let base: UnsafeMutablePointer<UInt8>

    init(capacity: Int = 256 * 1024) {
        self.capacity = capacity
        unsafe base = .allocate(capacity: capacity)
    }

    isolated deinit { unsafe base.deallocate() }

    /// - Returns: as `recv(2)`: bytes received, 0 at the end, negative with `errno` set.
    func receive(from socket: Int32) -> Int { unsafe cloakroom_receive(socket, base, capacity) }

    func withSpan<T>(_ count: Int, _ body: (Span<UInt8>) -> T) -> T {
        body(unsafe UnsafeBufferPointer(start: base, count: count).span)
    }

    func bytes(_ range: Range<Int>) -> [UInt8] { unsafe Array(raw(range).bindMemory(to: UInt8.self)) }

    func append(_ count: Int, to buffer: inout [UInt8]) {
        unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: base, count: count))
    }

    /// Valid until the next ``receive(from:)``.
    func raw(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(range.upperBound <= capacity)
        return unsafe UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }
}
