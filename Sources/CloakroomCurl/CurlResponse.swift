import CloakroomHTTP

/// What libcurl has told of a response so far.
///
/// libcurl tells within `curl_multi_socket_action`, so on the loop's thread. The callbacks have no isolation:
/// to prove the thread anew for each line of a head would cost more than to read it.
@safe final class CurlResponse {
    private(set) var head = CurlResponseHead()
    private(set) var body: [UInt8] = []
    private(set) var isTooLarge = false
    private let maximumBytes: Int

    /// - Parameter maximumBytes: of the body.
    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// For the next one.
    func reset() {
        head = CurlResponseHead()
        body = []
        isTooLarge = false
    }

    /// - Returns: whether there was room.
    fileprivate func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        let hasRoom = unsafe head.take(line.assumingMemoryBound(to: UInt8.self).span)
        if !hasRoom { isTooLarge = true }
        return hasRoom
    }

    /// - Returns: whether there was room.
    fileprivate func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= maximumBytes else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    fileprivate static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlResponse {
        guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
        return unsafe Unmanaged<CurlResponse>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// libcurl's header callback: any result but the count ends the transfer.
func receiveCurlHeaderLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ response: UnsafeMutableRawPointer?
) -> Int {
    let hasRoom = unsafe CurlResponse.at(response).takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return hasRoom ? size * count : 0
}

/// libcurl's write callback: any result but the count ends the transfer.
func receiveCurlBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ response: UnsafeMutableRawPointer?
) -> Int {
    let hasRoom = unsafe CurlResponse.at(response).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return hasRoom ? size * count : 0
}
