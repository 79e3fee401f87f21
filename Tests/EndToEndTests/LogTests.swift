import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 19: whatever comes in, a log line is one JSON object, and no secret is in it.
    @Suite struct Logs {
        private static let hostile = [
            "a\r\nb", "a\n{\"level\":\"error\",\"message\":\"forged\"}", "\u{1B}[31mred\u{1B}[0m\u{07}",
            "\"},{\"a\":\"",
            "back\\slash", "\u{7F}\u{85}\u{9B}2J\u{2028}\u{202E}", "${jndi:ldap://x}",
            String(repeating: "long", count: 2000),
        ]

        @Test func `hostile values end no line and move no cursor`() throws {
            try Stack.run("hostile", .init { $0["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]] }) { stack in
                let token = Tokens.fresh()
                for text in Self.hostile {
                    for ask in [
                        TestRequest(target: "/" + text, fields: ["User-Agent": text]),
                        TestRequest(method: text, target: "/healthz"),
                        TestRequest(
                            method: "POST", target: "/api/v1/auth/sts-token", fields: ["X-Convos-AuthToken": text]),
                        TestRequest(
                            method: "POST", target: "/api/v1/auth/sts-token",
                            fields: ["Authorization": "Bearer \(text)"]),
                        .presign(token, query: "contentType=\(text)"),
                        .renew(token, [text]),
                        .get("/v2/uploads/\(text)/parts?numbers=\(text)", token: token),
                    ] {
                        let status = try stack.ask(ask).status
                        #expect((200..<600).contains(status))
                    }
                }
                #expect(RunLogs.strangeLines(in: stack.logFile) == [])
                #expect(stack.logLines("forged").isEmpty)
                #expect(stack.logLines("request").count >= 6 * Self.hostile.count)
            }
        }

        @Test func `hostile claims of a true token stay inside their audit line`() throws {
            try Stack.run("hostile-claims") { stack in
                for text in Self.hostile.dropLast() {
                    let token = Tokens.token(user: text, device: text)
                    let status = try stack.ask(.presign(token)).status
                    #expect([200, 401].contains(status))
                }
                #expect(RunLogs.strangeLines(in: stack.logFile) == [])
                #expect(RunLogs.strangeLines(in: stack.auditFile) == [])
                let audited = RunFolder.text(of: stack.auditFile).split(separator: "\n")
                #expect((1...Self.hostile.count).contains(audited.count))
            }
        }

        @Test func `tokens, keys and presigned queries are in no log`() throws {
            try Stack.run("secrets", .init(nginx: true, s3: true)) { stack in
                try stack.waitUntilReady()
                let token = Tokens.fresh()
                _ = try Vended(stack.askNginx(.vend(token)))
                let upload = try stack.askNginx(.presign(token))
                Secrets.keep(Presigned.signature(try #require(upload["uploadUrl"])))
                // A token where none belongs; nginx passes none on.
                #expect(try stack.askNginx(.get("/v1/credentials?token=\(token)")).status == 404)
                _ = try stack.ask(.get("/v1/credentials?token=\(token)"))
                _ = try stack.askNginx(.vend(token + "x"))
                _ = try stack.askNginx(
                    TestRequest(target: "/v1/credentials", fields: ["Authorization": "Basic \(token)"]))
                let files = [
                    stack.logFile, stack.auditFile, "\(stack.folder)/nginx/access.log",
                    "\(stack.folder)/nginx/error.log",
                ]
                for file in files.dropLast() { #expect(!RunFolder.text(of: file).isEmpty) }
                #expect(try Secrets.found(in: files) == [])
            }
        }

        @Test func `the search finds a secret that is there`() throws {
            let folder = try RunFolder.make("planted")
            let file = "\(folder)/planted.txt"
            try "a\nb \(Tokens.fresh().dropLast(60).suffix(39)) c\n".write(
                toFile: file, atomically: false, encoding: .utf8)
            #expect(try Secrets.found(in: [file]) == ["\(file):2"])
            try "{}\nno JSON\n\u{1B}\n{\"a\":1}\n".write(toFile: file, atomically: false, encoding: .utf8)
            #expect(RunLogs.strangeLines(in: file) == ["no JSON", "\u{1B}"])
        }
    }
}
