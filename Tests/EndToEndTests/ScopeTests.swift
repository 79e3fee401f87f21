import Foundation
import Testing

extension EndToEnd {
    /// What vended credentials open, asked of an S3 that enforces session policies.
    @Suite struct Scopes {
        private static func base() throws -> String { "\(try EndToEnd.s3().url)/\(SeaweedFS.bucket)" }

        private func vended(
            _ user: String, scope: String? = nil, of stack: Stack
        ) throws -> Vended {
            let token = Tokens.token(user: user)
            return try Vended(try stack.askNginx(scope.map { .vend(token, scope: $0) } ?? .vend(token)))
        }

        @Test func `a list shows the own folder, and nothing without its prefix`() throws {
            try Stack.run("list", .init(nginx: true, s3: true)) { stack in
                let base = try Self.base()
                let (one, ten) = (try vended("l_1", of: stack), try vended("l_10", of: stack))
                #expect(try one.ask("PUT", "\(base)/photos/l_1/a.jpg").status == 200)
                #expect(try ten.ask("PUT", "\(base)/photos/l_10/b.jpg").status == 200)
                let own = try one.ask("GET", "\(base)?list-type=2&prefix=photos%2Fl_1%2F")
                #expect(own.status == 200)
                #expect(own.text.contains("photos/l_1/a.jpg") && !own.text.contains("l_10"))
                for query in [
                    "list-type=2", "list-type=2&prefix=", "list-type=2&prefix=photos%2F",
                    "list-type=2&prefix=photos%2Fl_1",
                    "list-type=2&prefix=photos%2Fl_10%2F",
                ] { #expect(try one.ask("GET", "\(base)?\(query)").status == 403, "\(query)") }
            }
        }

        @Test func `a copy stays in the own folder, from either end`() throws {
            try Stack.run("copy", .init(nginx: true, s3: true)) { stack in
                let base = try Self.base()
                let (one, ten) = (try vended("c_1", of: stack), try vended("c_10", of: stack))
                #expect(try one.ask("PUT", "\(base)/photos/c_1/a.jpg").status == 200)
                #expect(try ten.ask("PUT", "\(base)/photos/c_10/b.jpg").status == 200)
                for (source, destination, expected) in [
                    ("photos/c_1/a.jpg", "photos/c_1/copy.jpg", 200),
                    ("photos/c_10/b.jpg", "photos/c_1/stolen.jpg", 403),
                    ("photos/c_1/a.jpg", "photos/c_10/planted.jpg", 403),
                ] {
                    let answer = try one.ask("PUT", "\(base)/\(destination)", copying: "/\(SeaweedFS.bucket)/\(source)")
                    #expect(answer.status == expected, "\(source) to \(destination)")
                }
                #expect(try one.ask("GET", "\(base)/photos/c_1/stolen.jpg").status == 404)
                #expect(try ten.ask("GET", "\(base)/photos/c_10/planted.jpg").status == 404)
            }
        }

        @Test func `read cannot write, and upload cannot read`() throws {
            try Stack.run("narrow", .init(nginx: true, s3: true)) { stack in
                let object = "\(try Self.base())/photos/s_1/a.jpg"
                let upload = try vended("s_1", scope: "upload", of: stack)
                #expect(try upload.ask("PUT", object).status == 200)
                #expect(try upload.ask("GET", object).status == 403)
                #expect(try upload.ask("DELETE", object).status == 403)
                #expect(try upload.ask("GET", "\(try Self.base())?list-type=2&prefix=photos%2Fs_1%2F").status == 403)
                let read = try vended("s_1", scope: "read", of: stack)
                #expect(read.key != upload.key)
                #expect(try read.ask("GET", object).status == 200)
                #expect(try read.ask("PUT", object).status == 403)
                #expect(try read.ask("DELETE", object).status == 403)
                #expect(try read.ask("GET", "\(try Self.base())?list-type=2&prefix=photos%2Fs_1%2F").status == 200)
                let full = try vended("s_1", of: stack)
                #expect(try full.ask("DELETE", object).status == 204)
            }
        }

        @Test func `large objects go up in parts, with full and with upload`() throws {
            try Stack.run("parts", .init(nginx: true, s3: true)) { stack in
                let base = try Self.base()
                for scope in ["full", "upload"] {
                    let vended = try vended("p_1", scope: scope, of: stack)
                    let object = "\(base)/photos/p_1/\(scope).mov"
                    let started = try vended.ask("POST", "\(object)?uploads=")
                    #expect(started.status == 200)
                    let upload = try #require(started.text.firstMatch(of: /<UploadId>([^<]+)</)).1
                    #expect(try vended.ask("PUT", "\(object)?partNumber=1&uploadId=\(upload)").status == 200)
                    #expect(try vended.ask("GET", "\(object)?uploadId=\(upload)").status == 200)
                    #expect(try vended.ask("DELETE", "\(object)?uploadId=\(upload)").status == 204)
                }
                let read = try vended("p_1", scope: "read", of: stack)
                #expect(try read.ask("POST", "\(base)/photos/p_1/read.mov?uploads=").status == 403)
            }
        }

        @Test func `the query of the container route narrows, and asking for more is refused`() throws {
            try Stack.run("query", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.token(user: "q_1")
                let reply = try stack.askNginx(.get("/v1/credentials?scope=read&lifetimeSeconds=900", token: token))
                #expect(reply.status == 200)
                for name in ["SecretAccessKey", "Token"] { Secrets.keep(reply[name] ?? "") }
                let expiration = try #require(reply["Expiration"])
                let left = try Date(expiration, strategy: .iso8601).timeIntervalSinceNow
                #expect((800...905).contains(left))
                #expect(
                    try stack.askNginx(.vend(token, scope: "everything")).told
                        == #"403 {"error":"Scope not allowed","code":"forbidden"}"#)
                #expect(
                    try stack.askNginx(.get("/v1/credentials?lifetimeSeconds=43200", token: token)).told
                        == #"400 {"error":"lifetimeSeconds must be from 900 to 3600","code":"invalid_request"}"#)
            }
        }

        @Test func `policy test finds every answer as expected, and show prints what is vended`() throws {
            let folder = try RunFolder.make("policy")
            let file = "\(folder)/settings.json5"
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: file)
            func run(_ arguments: String...) throws -> Command { try Command(["policy"] + arguments + [file]) }
            let test = try run("test", "--user", "u_1")
            #expect(test.status == 0)
            #expect(test.text.contains("deny  (expected deny )  s3:GetObject photos/u_10/a.jpg"))
            #expect(test.text.contains("allow (expected allow)  s3:GetObject photos/u_1/a.jpg"))
            let show = try run("show", "--user", "u_1", "--scope", "read", "--json")
            #expect(show.status == 0)
            #expect(show.text.contains(#""policy":{"Version":"2012-10-17","Statement":[{"Effect":"Allow","#))
            #expect(try run("show", "--user", "u_1/../u_2").status == 1)
            #expect(try run("show", "--user", "u_1", "--scope", "admin").status == 1)
            #expect(try run("show").status == 2)
        }
    }
}

extension Vended {
    /// A copy: S3 reads the source and writes what the URL names, as the one who asks.
    fileprivate func ask(_ method: String, _ url: String, copying source: String) throws -> TestResponse {
        try Curl.signed(
            method, url, key: key, secret: secret, session: session, fields: ["x-amz-copy-source": source])
    }
}
