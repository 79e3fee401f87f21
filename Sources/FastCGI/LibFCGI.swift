import CFastCGI
import HTTPValues
import Loop

/// One request inside libfcgi, which parses from memory and writes to memory.
///
/// libfcgi is given a descriptor number that no process can have, so it can touch no socket of ours, whatever it reads.
@LoopActor
@safe final class LibFCGIRequest {
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

    isolated deinit {
        unsafe raw.pointee.keepConnection = 1
        unsafe FCGX_Finish_r(raw)
        unsafe raw.deallocate()
    }

    /// - Parameters:
    ///   - feed: one whole request that ``Gate`` has passed.
    ///   - bodyBytes: how long the gate found its body to be.
    /// - Returns: its parameters and body; `nil` if libfcgi would not have it.
    func parse(_ feed: UnsafeRawBufferPointer, bodyBytes: Int, fields: FieldTable) -> Request? {
        unsafe MemoryWire.feed = feed
        defer { unsafe MemoryWire.feed = UnsafeRawBufferPointer(start: nil, count: 0) }
        unsafe raw.pointee.ipcFd = Self.noDescriptor
        unsafe raw.pointee.keepConnection = 1
        guard unsafe FCGX_Accept_r(raw) == 0 else { return nil }
        let body = readBody(bodyBytes)
        return unsafe fields.request(from: raw.pointee.envp, body: body)
    }

    /// Ends the request and hands over the records that answer it, for the time of the call; none if no request is open.
    func finish<Value>(_ response: Response, _ send: (UnsafeRawBufferPointer) -> Value) -> Value {
        // What libfcgi wrote of a request that was given up is no part of this answer.
        unsafe MemoryWire.output.removeAll(keepingCapacity: true)
        if unsafe raw.pointee.out != nil {
            unsafe response.head.withUnsafeBytes { unsafe put($0) }
            unsafe response.body.withUnsafeBytes { unsafe put($0) }
            unsafe raw.pointee.keepConnection = 1
            unsafe FCGX_Finish_r(raw)
        }
        // The one buffer serves every answer; after a large one it is given back.
        let isLarge = unsafe MemoryWire.output.capacity > 1 << 18
        defer { unsafe MemoryWire.output.removeAll(keepingCapacity: !isLarge) }
        return unsafe MemoryWire.output.withUnsafeBytes { unsafe send($0) }
    }

    /// The whole of STDIN: nginx answers 502 to a request whose body was left unread.
    private func readBody(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        let stream = unsafe raw.pointee.in
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = unsafe max(0, Int(FCGX_GetStr(buffer.baseAddress, Int32(count), stream)))
        }
    }

    private func put(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        _ = unsafe FCGX_PutStr(bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), raw.pointee.out)
    }
}

/// Where libfcgi reads and writes instead of a socket.
enum MemoryWire {
    // C callbacks without a context argument; libfcgi is called on the loop's thread alone.
    nonisolated(unsafe) static var feed = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    nonisolated(unsafe) static var output: [UInt8] = []
}

/// Takes the place of libfcgi's own function of that name, which it calls through its PLT.
///
/// Public for the linker's sake: the optimiser hides other symbols, and a hidden one takes nobody's place.
/// - Returns: bytes given; 0 at the end of the feed: libfcgi may fail but never blocks.
@_cdecl("OS_Read")
public func cloakroomRead(_ descriptor: Int32, _ buffer: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Int32 {
    let count = unsafe min(capacity, MemoryWire.feed.count)
    guard count > 0 else { return 0 }
    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: MemoryWire.feed.baseAddress!, byteCount: count)
    unsafe MemoryWire.feed = UnsafeRawBufferPointer(rebasing: MemoryWire.feed[count...])
    return Int32(count)
}

@_cdecl("OS_Write")
public func cloakroomWrite(_ descriptor: Int32, _ buffer: UnsafePointer<CChar>, _ count: Int) -> Int32 {
    unsafe MemoryWire.output.append(contentsOf: UnsafeRawBufferPointer(start: buffer, count: count))
    return Int32(count)
}
