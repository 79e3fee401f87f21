import Glibc
import CloakroomTestSupport
import Testing

@testable import CloakroomFastCGI

struct ListenAddressTests {
    @Test(
        arguments: [
            ("unix:/run/w.sock", .unix(path: "/run/w.sock")), ("unix:w", .unix(path: "w")),
            ("127.0.0.1:9000", .internet(host: "127.0.0.1", port: 9000)), ("[::1]:9", .internet(host: "::1", port: 9)),
            ("0.0.0.0:65535", .internet(host: "0.0.0.0", port: 65535)),
        ] as [(String, ListenAddress)])
    func `reads`(text: String, address: ListenAddress) {
        #expect(ListenAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", ":", "unix:", "9000", ":9000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "[]:1",
        "127.0.0.1:9000x", "[::1]", "127.0.0.1:+9", "::1:9000", "localhost:9000", "[127.0.0.1]:9", "1.2.3:9",
        "[::1:9", "::1]:9", "[::1]x:9", " 127.0.0.1:9",
    ])
    func `refuses`(text: String) { #expect(ListenAddress(text) == nil) }

    @Test func `listens on the longest path it takes, and on no longer one`() throws {
        let folder = try TemporaryFolder()
        let room = ListenAddress.maximumPathBytes - folder.path.utf8.count - 1
        let path = folder[String(repeating: "x", count: room)]
        let address = try #require(ListenAddress("unix:\(path)"))
        let socket = try address.listen()
        defer { _ = Peer.closing(socket) }
        #expect(throws: Peer.ConnectionError.self) { try Peer(unixPath: path) }
        try address.publish(listener: getpid())
        _ = try Peer(unixPath: path)
        #expect(ListenAddress("unix:\(path)x") == nil)
    }

    @Test func `leads to the old worker until the new one is ready`() throws {
        let folder = try TemporaryFolder()
        let address = try #require(ListenAddress("unix:\(folder["w.sock"])"))
        let old = try address.listen()
        try address.publish(listener: getpid())
        let new = try address.listen()
        _ = try Peer(unixPath: folder["w.sock"])
        #expect(Peer.pendingConnection(of: old) && !Peer.pendingConnection(of: new))
        try address.publish(listener: getpid())
        _ = try Peer(unixPath: folder["w.sock"])
        #expect(!Peer.pendingConnection(of: old) && Peer.pendingConnection(of: new))
        for socket in [old, new] { Peer.closing(socket) }
    }
}
