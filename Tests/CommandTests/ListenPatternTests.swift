import Testing

@testable import CloakroomCommand

struct ListenPatternTests {
    @Test func `has an address for each worker, numbered from 1`() throws {
        let sockets = try ListenPattern("unix:/run/w-%d.sock", workers: 3)
        #expect(sockets.addresses == (1...3).map { .unix(path: "/run/w-\($0).sock") })
        #expect(sockets.name == "unix:/run/w-N.sock" && sockets.text == "unix:/run/w-%d.sock")
        let ports = try ListenPattern("[::1]:900%d", workers: 2)
        #expect(ports.addresses.map(\.description) == ["[::1]:9001", "[::1]:9002"])
    }

    @Test func `one worker needs no number`() throws {
        #expect(try ListenPattern("127.0.0.1:9000").addresses == [.internet(host: "127.0.0.1", port: 9000)])
        #expect(try ListenPattern("unix:/w-%d").addresses == [.unix(path: "/w-1")])
    }

    @Test(arguments: [
        ("unix:/w", 2, "with several workers, --listen holds %d for the number"),
        ("w-%d", 2, "w-1 is neither unix:PATH (at most 99 bytes) nor ADDRESS:PORT"),
        ("127.0.0.1:6553%d", 9, "127.0.0.1:65536 is neither unix:PATH (at most 99 bytes) nor ADDRESS:PORT"),
    ])
    func `says what is wrong with an address`(text: String, workers: Int, expected: String) {
        let error = #expect(throws: ListenPattern.PatternError.self) { try ListenPattern(text, workers: workers) }
        #expect(error?.description == expected)
    }

    @Test(arguments: [("1", 1), ("256", 256), ("0", nil), ("257", nil), ("two", nil), ("", nil)] as [(String, Int?)])
    func `takes 1 to 256 workers`(text: String, expected: Int?) {
        #expect((try? ListenPattern.count(text)) == expected)
    }
}
