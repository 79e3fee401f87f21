import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AuditLogTests {
    private static let time = Date(timeIntervalSince1970: 1_800_000_000.75)
    private static let end = time.addingTimeInterval(900)

    private func issue(
        _ kind: AuditLog.Issuance.Kind, device: String? = nil, tier: String? = nil, address: String? = nil,
        id: RequestID? = nil
    ) throws -> AuditLog.Issuance {
        let user = try #require(UserID("u_1"))
        let subject = Subject(userID: user, deviceID: device, tier: "claimed", issuer: "https://auth.example")
        var request = Request(method: "GET", target: "/")
        request.id = id
        request.peerAddress = address
        return AuditLog.Issuance(kind, to: subject, tier: tier, by: request)
    }

    @LoopActor private func audit(_ path: String) throws -> AuditLog {
        AuditLog(
            .lines(try LineSink(path: path)), worker: "unix:/w.sock", process: 7, now: { Self.time },
            drawID: { "00000000000000c1" })
    }

    private static let credentials = AuditLog.Issuance.Kind.credentials(
        AuditedCredentials(
            accessKeyID: "ASIA1", session: "u_1-1800000000", scope: "full", scopeDigest: "0123456789abcdef",
            until: end))

    @Test @LoopActor func `writes a line for each kind of what is issued, tied to the line before`() async throws {
        let folder = try TemporaryFolder()
        let audit = try audit(folder["audit"])
        let all = try issue(
            Self.credentials, device: "phone \"1\"\n", tier: "paid", address: "2001:db8::1", id: RequestID(0xABCD))
        #expect(await audit.record(all))
        #expect(await audit.record(try issue(.upload(objectKey: "u_1/ü\\\u{7F}", until: Self.end))))
        #expect(await audit.record(try issue(.session(id: "t-1", until: Self.end), address: "nobody's")))
        let expected = [
            #"{"time":"2027-01-15T08:00:00Z","audit":"issued","request":"000000000000abcd","kind":"credentials","#
                + #""user":"u_1","device":"phone \"1\"\n","tier":"paid","issuer":"https://auth.example","#
                + #""scope":"full","scopeDigest":"0123456789abcdef","session":"u_1-1800000000","#
                + #""accessKeyId":"ASIA1","expiration":"2027-01-15T08:15:00Z","address":"2001:db8::1","#
                + #""chain":"00000000000000c1","sequence":1,"start":{"worker":"unix:/w.sock","process":7}}"#,
            #"{"time":"2027-01-15T08:00:00Z","audit":"issued","kind":"upload","user":"u_1","#
                + #""issuer":"https://auth.example","objectKey":"u_1/ü\\\u007f","#
                + #""expiration":"2027-01-15T08:15:00Z","chain":"00000000000000c1","sequence":2,"previous":""#,
            #"{"time":"2027-01-15T08:00:00Z","audit":"issued","kind":"session","user":"u_1","#
                + #""issuer":"https://auth.example","tokenId":"t-1","expiration":"2027-01-15T08:15:00Z","#
                + #""chain":"00000000000000c1","sequence":3,"previous":""#,
        ]
        var lines = expected
        for index in 1..<lines.count {
            lines[index] += SHA256.hash(Array(lines[index - 1].utf8)).hexadecimal + "\"}"
        }
        #expect(try String(contentsOfFile: folder["audit"], encoding: .utf8) == lines.map { $0 + "\n" }.joined())
    }

    @Test @LoopActor func `tells everybody in order whether the line is there, at the end of the turn`() async throws {
        let folder = try TemporaryFolder()
        let audit = try audit(folder["audit"])
        var told: [String] = []
        func record(_ name: String, then next: @escaping @LoopActor () throws -> Void = {}) throws {
            audit.record(try issue(.session(id: name, until: Self.end))) { isWritten in
                let text = (try? String(contentsOfFile: folder["audit"], encoding: .utf8)) ?? ""
                told.append("\(name) \(isWritten && text.contains(#""tokenId":"\#(name)""#))")
                try? next()
            }
        }
        try record("one") { try record("three") }
        try record("two")
        #expect(told == [])
        try await until {
            told.count >= 3
        } pause: {
            try await LoopActor.sleep(for: .zero)
        }
        #expect(told == ["one true", "two true", "three true"])
    }

    /// One more than are put down at once.
    @Test @LoopActor func `writes all lines of a turn, however many, though none comes after them`() async throws {
        let folder = try TemporaryFolder()
        let audit = try audit(folder["audit"])
        var told: [Bool] = []
        let count = AuditStream.linesAtOnce + 1
        for number in 0..<count {
            audit.record(try issue(.session(id: "t-\(number)", until: Self.end))) { told.append($0) }
        }
        try await until(within: .seconds(5)) {
            told.count >= count
        } pause: {
            try await LoopActor.sleep(for: .zero)
        }
        #expect(told == [Bool](repeating: true, count: count))
        let lines = try String(contentsOfFile: folder["audit"], encoding: .utf8).split(separator: "\n")
        #expect(lines.count == count && lines.last?.contains(#""sequence":\#(count),"previous":"#) == true)
    }

    @Test @LoopActor func `tells everybody whose line a full disk did not take`() async throws {
        let audit = try audit("/dev/full")
        var told: [Bool] = []
        for name in ["one", "two"] { audit.record(try issue(.session(id: name, until: Self.end))) { told.append($0) } }
        try await until {
            told.count >= 2
        } pause: {
            try await LoopActor.sleep(for: .zero)
        }
        #expect(told == [false, false])
    }

    /// A pipe takes 64 KiB, so the first lines of many and a part of one more.
    @Test @LoopActor func `ties the next line to the last that was taken whole`() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["audit"], 0o600) == 0)
        let reader = open(folder["audit"], O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let audit = try audit(folder["audit"])
        var told: [Bool] = []
        for number in 0..<20 {
            let key = String(repeating: "k", count: 9000 + number)
            audit.record(try issue(.upload(objectKey: key, until: Self.end))) { told.append($0) }
        }
        try await until {
            told.count >= 20
        } pause: {
            try await LoopActor.sleep(for: .zero)
        }
        var lines = text(from: reader).split(separator: "\n")
        let cut = lines.removeLast()
        #expect(cut.utf8.count < 9000 && told == (0..<20).map { $0 < lines.count } && lines.count > 3)
        #expect(await audit.record(try issue(.upload(objectKey: "next", until: Self.end))))
        let rest = text(from: reader)
        #expect(rest.hasPrefix("\n") && rest.contains(#""objectKey":"next""#))
        lines.append(contentsOf: rest.split(separator: "\n"))
        for index in 1..<lines.count {
            let previous = SHA256.hash(Array(lines[index - 1].utf8)).hexadecimal
            #expect(lines[index].hasSuffix(#""sequence":\#(index + 1),"previous":"\#(previous)"}"#))
        }
    }

    private func text(from reader: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        let count = read(reader, &buffer, buffer.count)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }
}
