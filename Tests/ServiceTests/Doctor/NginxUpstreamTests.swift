import Foundation
import Testing

@testable import CloakroomOperations

struct NginxUpstreamTests {
    private static let ours = ["unix:/run/cloakroom/worker-1.sock", "unix:/run/cloakroom/worker-2.sock"]

    private static func lines(_ text: String, _ workers: [String]) -> [String] {
        NginxUpstream(file: "upstream.conf", text: text).findings(workers).lines
    }

    @Test func `the file that we ship names two workers`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../nginx/upstream.conf").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(Self.lines(text, Self.ours) == ["ok: upstream.conf names all 2 workers and no other"])
    }

    @Test func `a worker without a line, and a line without a worker, are told`() {
        let text = "upstream a { server 127.0.0.1:9001; server [::1]:9002 max_fails=0; }"
        #expect(
            Self.lines(text, ["127.0.0.1:9001", "127.0.0.1:9003", "127.0.0.1:9004"]) == [
                "warning: upstream.conf lacks 127.0.0.1:9003, 127.0.0.1:9004",
                "warning: upstream.conf has [::1]:9002, where no worker is to listen",
            ])
    }

    @Test(arguments: [
        "# server 127.0.0.1:9001;", "server 127.0.0.1:9001 down;", "server_name 127.0.0.1:9001;", "server;",
    ])
    func `what gets no requests is none`(text: String) {
        #expect(NginxUpstream(file: "f", text: text).servers == [])
    }

    @Test func `a comment behind a line is none of it`() {
        #expect(
            NginxUpstream(file: "f", text: "  server\tunix:/w max_fails=0; # server unix:/x;").servers == ["unix:/w"])
    }
}
