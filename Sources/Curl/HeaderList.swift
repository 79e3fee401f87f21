import CCurl
import HTTPValues

/// A request's header lines as libcurl wants them, nodes and texts in one block that the next request uses again.
///
/// libcurl reads the list until the transfer is done and frees nothing of it.
@safe struct HeaderList {
    /// What libcurl would add by itself: none of it is signed, and `Expect` costs a round trip.
    private static let refused: [StaticString] = ["Expect:", "Accept:", "Content-Type:"]

    private var block: UnsafeMutableRawPointer?
    private var capacity = 0

    /// - Returns: the first node; `nil` when a field cannot be sent: a line break or a NUL would make two of one.
    mutating func fill(_ fields: HeaderFields) -> UnsafeMutablePointer<curl_slist>? {
        guard Self.isSendable(fields) else { return nil }
        let refused = fields.place(of: "Content-Type") == nil ? Self.refused[...] : Self.refused.dropLast()
        let count = fields.count + refused.count
        let nodeBytes = unsafe count * MemoryLayout<curl_slist>.stride
        let start = unsafe block(of: nodeBytes + fields.text.count)
        let nodes = unsafe start.bindMemory(to: curl_slist.self, capacity: count)
        let texts = unsafe (start + nodeBytes).bindMemory(to: CChar.self, capacity: fields.text.count)
        unsafe fields.text.withUnsafeBytes { bytes in
            if let source = bytes.baseAddress { unsafe memcpy(texts, source, bytes.count) }
        }
        var next = 0
        func add(_ line: UnsafeMutablePointer<CChar>?) {
            let isLast = next == count - 1
            unsafe (nodes + next).initialize(to: curl_slist(data: line, next: isLast ? nil : nodes + next + 1))
            next += 1
        }
        for line in refused {
            unsafe add(UnsafeMutableRawPointer(mutating: line.utf8Start).assumingMemoryBound(to: CChar.self))
        }
        for place in fields.places {
            // A name with a semicolon is libcurl's way to send an empty value.
            if place.value.isEmpty {
                unsafe texts[place.name.upperBound] = CChar(UInt8(ascii: ";"))
                unsafe texts[place.name.upperBound + 1] = 0
            }
            unsafe add(texts + place.line.lowerBound)
        }
        return unsafe nodes
    }

    func free() { unsafe block?.deallocate() }

    private mutating func block(of count: Int) -> UnsafeMutableRawPointer {
        if let block = unsafe block, capacity >= count { return unsafe block }
        unsafe block?.deallocate()
        capacity = max(768, count)
        let block = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: capacity, alignment: MemoryLayout<curl_slist>.alignment)
        unsafe self.block = block
        return unsafe block
    }

    /// Eight bytes at a time: adding 0x60 to a byte's lower seven bits reaches the highest bit from 0x20 on.
    private static func isSendable(_ fields: HeaderFields) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var controls = 0
        unsafe fields.text.withUnsafeBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let tabs = word ^ (ones &* 0x09)
                let isTab = ~((tabs & (ones &* 0x7F)) &+ (ones &* 0x7F) | tabs)
                let isAbove = (word & (ones &* 0x7F)) &+ (ones &* 0x60) | word
                controls += (~(isAbove | isTab) & (ones &* 0x80)).nonzeroBitCount
                index += 8
            }
            while index < bytes.count {
                if unsafe bytes[index] < 0x20 && bytes[index] != 0x09 { controls += 1 }
                index += 1
            }
        }
        // One NUL ends each line.
        return controls == fields.count
    }
}
