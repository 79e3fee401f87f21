import Glibc

/// The name of this machine, as `hostname` prints it.
package enum HostName {
    /// Without what no key should have.
    package static let text: String = {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "host" }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(name.prefix(64).map { "\($0)".wholeMatch(of: /[A-Za-z0-9._-]/) == nil ? "-" : $0 })
    }()
}
