import HTTPValues

/// What libcurl has told of an answer so far.
///
/// libcurl tells within `curl_multi_socket_action`, so on the loop's thread. The callbacks belong to nobody's isolation:
/// to prove the thread anew for each line of a head would cost more than to read it.
@safe final class CurlAnswer {
    private(set) var head = AnswerHead()
    private(set) var body: [UInt8] = []
    private(set) var isTooLarge = false
    private let maximumBytes: Int

    /// - Parameter maximumBytes: of the body.
    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// For the next one.
    func reset() {
        head = AnswerHead()
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

    fileprivate static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlAnswer {
        guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
        return unsafe Unmanaged<CurlAnswer>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// libcurl's header callback: any result but the count ends the transfer.
func takeAnswerLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ answer: UnsafeMutableRawPointer?
) -> Int {
    let hasRoom = unsafe CurlAnswer.at(answer).takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return hasRoom ? size * count : 0
}

/// libcurl's write callback: any result but the count ends the transfer.
func takeAnswerBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ answer: UnsafeMutableRawPointer?
) -> Int {
    let hasRoom = unsafe CurlAnswer.at(answer).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return hasRoom ? size * count : 0
}
