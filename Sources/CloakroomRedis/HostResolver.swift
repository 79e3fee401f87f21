import CloakroomCLinux

enum HostResolver {
    /// Blocks until the system's resolver has responded.
    ///
    /// - Returns: the first address as text; `nil` if there is none.
    static func literal(of host: String) -> String? {
        let text = unsafe [CChar](unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { buffer, count in
            count = unsafe cloakroom_resolve(host, buffer.baseAddress, buffer.count) == 0 ? buffer.count : 0
        }
        guard let end = text.firstIndex(of: 0) else { return nil }
        return String(decoding: text[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
