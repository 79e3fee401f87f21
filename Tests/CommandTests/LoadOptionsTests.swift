import CloakroomConnections
import CloakroomLoad
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

struct LoadOptionsTests {
    private func options(_ words: [String]) throws -> LoadOptions {
        try LoadOptions(Options(words, of: LoadCommand.syntax))
    }

    private func refusal(_ words: [String]) throws -> String? {
        do {
            _ = try options(words)
            return nil
        } catch let EarlyExit.usage(text) {
            return text
        }
    }

    @Test(arguments: [
        "http://localhost:8080", "https://127.0.0.1", "http://127.8.9.10:1", "https://[::1]:8443", "https://LOCALHOST/",
        "unix:/run/w.sock", "fastcgi://127.0.0.1:9000", "fastcgi://[::1]:9000",
    ])
    func `what is this machine needs no consent`(target: String) throws {
        #expect(try refusal([target]) == nil)
    }

    @Test(arguments: [
        ("https://api.example.com", "api.example.com"), ("http://128.0.0.1", "128.0.0.1"),
        ("https://[2001:db8::1]", "2001:db8::1"),
        ("fastcgi://10.0.0.1:9000", "10.0.0.1"), ("https://localhost.example.com", "localhost.example.com"),
        ("http://127.0.0.1.example.com", "127.0.0.1.example.com"), ("http://0.0.0.0", "0.0.0.0"),
    ])
    func `another host has to be named twice`(target: String, host: String) throws {
        #expect(try refusal([target])?.contains("add --yes-load \(host) if that is meant") == true)
        #expect(try refusal(["--yes-load", "other.example.com", target]) != nil)
        #expect(try refusal(["--yes-load", host, target]) == nil)
    }

    @Test(
        arguments: [
            [], ["localhost"], ["ftp://localhost"], ["http://localhost/path"],
            ["http://localhost", "http://localhost"],
            ["http://user@localhost"], ["http://"], ["unix:"], ["fastcgi://localhost:9000"],
        ] as [[String]])
    func `what is no target is refused`(words: [String]) throws {
        #expect(try refusal(words) != nil)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", ServerAddress.internet(host: "127.0.0.1", port: 8080)),
        ("http://127.0.0.1", "127.0.0.1", .internet(host: "127.0.0.1", port: 80)),
        ("http://127.0.0.1:80/", "127.0.0.1", .internet(host: "127.0.0.1", port: 80)),
        ("http://[::1]", "[::1]", .internet(host: "::1", port: 80)),
        ("http://[::1]:8080", "[::1]:8080", .internet(host: "::1", port: 8080)),
        ("http://LocalHost:8080", "LocalHost:8080", .internet(host: "127.0.0.1", port: 8080)),
    ])
    func `HTTP without TLS has an authority and addresses`(url: String, authority: String, address: ServerAddress)
        throws
    {
        let server = try #require(LoadAddress(url)?.plainServer())
        #expect(server.authority == authority)
        #expect(server.addresses.contains(address))
    }

    @Test(arguments: [
        "https://127.0.0.1", "unix:/run/worker.sock", "fastcgi://127.0.0.1:9000", "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:", "http://127.0.0.1:+80", "http://name.invalid", "http://127.0.0.1 x", "http://é",
    ])
    func `the rest is libcurl's, or FastCGI`(target: String) throws {
        let address = try #require(LoadAddress(target))
        #expect(address.plainServer() == nil)
    }

    @Test func `bars are given several times, with commas, or behind one another`() throws {
        let written = [
            ["--fail-if", "p99>50ms", "--fail-if", "errors>0.1%", "http://localhost"],
            ["--fail-if", "p99>50ms,errors>0.1%", "http://localhost"],
            ["--fail-if", "p99>50ms", "errors>0.1%", "http://localhost"],
        ]
        for words in written { #expect(Set(try options(words).bars.map(\.text)) == ["p99>50ms", "errors>0.1%"]) }
        #expect(try options(["http://localhost"]).bars.isEmpty)
        #expect(try options(["--fail-if", "p99>50ms", "http://localhost"]).bars.map(\.text) == ["p99>50ms"])
        #expect(try options(["--find-knee", "http://localhost"]).bars.map(\.text) == ["p99>100ms", "errors>0.1%"])
        #expect(
            try options(["--find-knee", "--fail-if", "p99>50ms", "http://localhost"]).bars.map(\.text)
                == ["p99>50ms", "errors>0.1%"])
    }

    @Test(arguments: [
        ("--rate", "0"), ("--rate", "x"), ("--rate", "10,"), ("--rate", "1000000"), ("--duration", "5"),
        ("--duration", "0s"),
        ("--duration", "2d"), ("--mix", "vend=x"), ("--mix", "nothing"), ("--http", "3"), ("--connections", "0"),
        ("--fail-if", "p99"), ("--fail-if", "renew:p99>1s"), ("--timeout", "-1s"), ("--keys-per-request", "101"),
    ])
    func `a value that makes no sense is refused`(name: String, value: String) throws {
        #expect(try refusal([name, value, "http://localhost"]) != nil)
    }

    @Test func `steps, warm-up and ramps make the schedule`() throws {
        let schedule = try options([
            "--rate", "10,20", "--duration", "500ms", "--warm-up", "1s", "--ramp", "1.5s", "http://localhost",
        ]).schedule
        #expect(
            schedule
                == .steps([10, 20], seconds: 0.5, warmUp: 1, ramp: 1.5))
        #expect(try refusal(["--find-knee", "--rate", "1,2", "http://localhost"]) != nil)
        #expect(try refusal(["--find-knee", "--rate", "10", "--duration", "1s", "http://localhost"]) != nil)
        #expect(try refusal(["--rate", "100000", "--duration", "1h", "http://localhost"]) != nil)
    }

    @Test func `tokens are signed for each user and device, or read from a file`() throws {
        let folder = try TemporaryFolder()
        try Program.run(
            "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder["k"]])
        let words = [
            "--signing-key", folder["k"], "--issuer", "https://i.example", "--audience", "a", "--users", "3",
            "--devices", "2",
            "--key-id", "k1", "http://localhost",
        ]
        let tokens = try LoadTokens.all(Options(words, of: LoadCommand.syntax), lifetime: .seconds(60))
        let payloads = tokens.map { token -> String in
            let part = token.reveal().split(separator: ".")[1]
            let plain = String(part).replacing("-", with: "+").replacing("_", with: "/")
            let padded = plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)
            return String(decoding: Data(base64Encoded: padded) ?? Data(), as: UTF8.self)
        }
        #expect(payloads.count == 6)
        #expect(payloads[0].contains(#""sub":"load-1""#) && payloads[0].contains(#""load-1-1""#))
        #expect(payloads[5].contains(#""sub":"load-3""#) && payloads[5].contains(#""load-3-2""#))
        try Data((tokens.map { $0.reveal() }.joined(separator: "\r\n") + "\n\n").utf8)
            .write(to: URL(fileURLWithPath: folder["t"]))
        let read = try LoadTokens.all(
            Options(["--tokens", folder["t"]], of: LoadCommand.syntax), lifetime: .seconds(60))
        #expect(read.map { $0.reveal() } == tokens.map { $0.reveal() })
    }

    @Test func `without a way to sign, the way out is named`() throws {
        do {
            _ = try LoadTokens.all(Options([], of: LoadCommand.syntax), lifetime: .seconds(60))
            Issue.record("signed with nothing")
        } catch let EarlyExit.usage(text) {
            #expect(text.contains("--settings FILE") && text.contains("--tokens FILE"))
        }
    }
}
