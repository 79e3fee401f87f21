import CloakroomCFastCGI
import CloakroomCLinux
import CloakroomHTTP
import CloakroomLoop

/// libfcgi, which parses requests from memory, one after the other.
///
/// What it holds of a request is given back as soon as that has been read: a request that waits for its response keeps
/// none of libfcgi's buffers, and ``ResponseEncoder`` writes the response. It reaches no socket of ours, whatever it
/// reads: its descriptor is a number that no process can have, or that of a ``FeedFile``.
@LoopActor
@safe final class LibFCGIParser {
    /// How libfcgi comes to what it reads.
    enum Source: CaseIterable {
        /// Our function takes the place of the one that it reads with.
        case function
        /// A file in memory, which costs each request three system calls: for a libfcgi that was linked with
        /// `-Bsymbolic-functions`, as Ubuntu's, whose functions have no place that another could take.
        case file
    }

    nonisolated fileprivate static let noDescriptor = Int32.max - 1

    // libfcgi keeps pointers into it: it needs one address for all its life.
    private let raw: UnsafeMutablePointer<FCGX_Request>
    private let file: FeedFile?

    private static let initialized: Void = {
        precondition(FCGX_Init() == 0, "FCGX_Init failed")
    }()

    init(_ source: Source = .function) {
        Self.initialized
        file = source == .file ? FeedFile() : nil
        unsafe raw = .allocate(capacity: 1)
        unsafe FCGX_InitRequest(raw, -1, 0)
    }

    isolated deinit { unsafe raw.deallocate() }

    /// - Parameters:
    ///   - feed: one whole request that ``Gate`` has passed.
    ///   - bodyBytes: how long the gate found its body to be.
    /// - Returns: its parameters and body; `nil` if libfcgi would not have it.
    func parse(_ feed: UnsafeRawBufferPointer, bodyBytes: Int, fields: FieldTable) -> Request? {
        var descriptor = Self.noDescriptor
        if let file {
            guard let open = unsafe file.descriptor(of: feed) else { return nil }
            descriptor = open
        }
        unsafe ParserInput.feed = feed
        defer { unsafe ParserInput.feed = UnsafeRawBufferPointer(start: nil, count: 0) }
        unsafe raw.pointee.ipcFd = descriptor
        unsafe raw.pointee.keepConnection = 1
        guard unsafe FCGX_Accept_r(raw) == 0 else {
            file?.wasClosed()
            return nil
        }
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
/// - Returns: bytes given; 0 at the end of the feed, or of a ``FeedFile``: libfcgi may fail but never blocks.
@_cdecl("OS_Read")
public func cloakroomRead(_ descriptor: Int32, _ buffer: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Int32 {
    guard descriptor == LibFCGIParser.noDescriptor else { return unsafe Int32(read(descriptor, buffer, capacity)) }
    let feed = unsafe ParserInput.feed
    let count = min(capacity, feed.count)
    guard count > 0 else { return 0 }
    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: feed.baseAddress!, byteCount: count)
    unsafe ParserInput.feed = UnsafeRawBufferPointer(rebasing: feed[count...])
    return Int32(count)
}

/// A file without a name, in memory, from which libfcgi reads one request after the other.
///
/// Source: memfd_create(2), pwrite(2), lseek(2).
@LoopActor
private final class FeedFile {
    private var file: Int32 = -1
    /// A request ends where the file ends: libfcgi sees nothing of an earlier one, and does not wait for more.
    private var size = 0

    isolated deinit { if file >= 0 { close(file) } }

    /// - Returns: a descriptor of the file, to be read from the first byte of `feed` on; `nil` when the system has none.
    func descriptor(of feed: UnsafeRawBufferPointer) -> Int32? {
        if file < 0 {
            file = unsafe cloakroom_memfd("request")
            size = 0
        }
        size = max(size, feed.count)
        let start = size - feed.count
        guard file >= 0, unsafe pwrite(file, feed.baseAddress, feed.count, start) == feed.count,
            lseek(file, start, SEEK_SET) == start
        else { return nil }
        return file
    }

    /// libfcgi closes the descriptor of a request that it would not have.
    func wasClosed() { file = -1 }
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
