import CloakroomCFastCGI
import CloakroomCLinux
import CloakroomHTTP
import CloakroomLoop

/// libfcgi, which parses requests from memory, one after the other.
///
/// What it holds of a request is given back as soon as that has been read: a request that waits for its response keeps
/// none of libfcgi's buffers, and ``ResponseEncoder`` writes the response. libfcgi is given a descriptor number that no
/// process can have, so it can reach no socket of ours, whatever it reads.
@LoopActor
@safe final class LibFCGIParser {
    private static let noDescriptor = Int32.max - 1

    // libfcgi keeps pointers into it: it needs one address for all its life.
    private let raw: UnsafeMutablePointer<FCGX_Request>

    private static let initialized: Void = {
        precondition(FCGX_Init() == 0, "FCGX_Init failed")
    }()

    init() {
        Self.initialized
        unsafe raw = .allocate(capacity: 1)
        unsafe FCGX_InitRequest(raw, -1, 0)
    }

    isolated deinit { unsafe raw.deallocate() }

    /// - Parameters:
    ///   - feed: one whole request that ``Gate`` has passed.
    ///   - bodyBytes: how long the gate found its body to be.
    /// - Returns: its parameters and body; `nil` if libfcgi would not have it.
    func parse(_ feed: UnsafeRawBufferPointer, bodyBytes: Int, fields: FieldTable) -> Request? {
        unsafe ParserInput.feed = feed
        defer { unsafe ParserInput.feed = UnsafeRawBufferPointer(start: nil, count: 0) }
        unsafe raw.pointee.ipcFd = Self.noDescriptor
        unsafe raw.pointee.keepConnection = 1
        guard unsafe FCGX_Accept_r(raw) == 0 else { return nil }
        // Without a word: only its end would be written, and that goes with the response.
        defer { unsafe FCGX_Free(raw, 0) }
        let body = readBody(bodyBytes)
        return unsafe fields.request(from: raw.pointee.envp, body: body)
    }

    /// The whole of STDIN.
    private func readBody(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        let stream = unsafe raw.pointee.in
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = unsafe max(0, Int(FCGX_GetStr(buffer.baseAddress, Int32(count), stream)))
        }
    }
}

/// Where libfcgi reads instead of from a socket.
enum ParserInput {
    // A C callback without a context argument; libfcgi is called on the loop's thread alone.
    nonisolated(unsafe) static var feed = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
}

/// Takes the place of libfcgi's own function of that name, which it calls through its PLT.
///
/// Public for the linker's sake: the optimiser hides other symbols, and a hidden one replaces none.
/// - Returns: bytes given; 0 at the end of the feed: libfcgi may fail but never blocks.
@_cdecl("OS_Read")
public func cloakroomRead(_ descriptor: Int32, _ buffer: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Int32 {
    let feed = unsafe ParserInput.feed
    let count = min(capacity, feed.count)
    guard count > 0 else { return 0 }
    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: feed.baseAddress!, byteCount: count)
    unsafe ParserInput.feed = UnsafeRawBufferPointer(rebasing: feed[count...])
    return Int32(count)
}

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
