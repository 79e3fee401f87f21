import Foundation
import Testing

extension EndToEnd {
    /// What is handed out for uploads, held by a real store to its last condition.
    @Suite struct Uploads {
        private static func multipart(_ settings: inout TestSettings) {
            settings["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]]
        }

        private static func post(_ token: String, _ target: String, _ body: String = "") -> TestRequest {
            .post(target, token: token, json: body)
        }

        /// Sends a form as a browser or an app would.
        private func send(_ reply: TestResponse, file: String, otherwise: [String: String] = [:]) throws -> TestResponse
        {
            let folder = try RunFolder.make("form")
            try file.write(toFile: "\(folder)/file", atomically: false, encoding: .utf8)
            let fields = try #require(reply.json["fields"] as? [String: String])
            for name in ["policy", "x-amz-signature"] { Secrets.keep(fields[name] ?? "") }
            let lines = fields.merging(otherwise) { $1 }.map { "form-string = \"\($0)=\($1)\"\n" }
            return try Curl.run(
                "POST", try #require(reply["uploadUrl"]),
                configuration: lines.joined() + "form = \"file=@\(folder)/file\"\n")
        }

        @Test func `a presigned URL takes only the length and the bytes that were announced`() throws {
            try Stack.run("put", .init(nginx: true, s3: true)) { stack in
                // Of "another".
                let digest = "ae448ac86c4e8e4dec645729708ef41873ae79c6dff84eff73360989487f08e5"
                let query = "contentType=image/jpeg&contentLength=7"
                func leave(_ query: String) throws -> (url: String, fields: [String: String], key: String) {
                    let reply = try stack.askNginx(.presign(Tokens.fresh(), query: query))
                    let url = try #require(reply["uploadUrl"])
                    Secrets.keep(Presigned.signature(url))
                    return (
                        url, try #require(reply.json["headers"] as? [String: String]), try #require(reply["objectKey"])
                    )
                }
                let upload = try leave(query)
                #expect(
                    try Curl.run("PUT", upload.url, fields: ["Content-Type": "image/jpeg"], body: "a pho").status == 403
                )
                #expect(
                    try Curl.run("PUT", upload.url, fields: ["Content-Type": "image/jpeg"], body: "a photo").status
                        == 200)
                let bound = try leave(query + "&sha256=\(digest)")
                #expect(try Curl.run("PUT", bound.url, fields: bound.fields, body: "a photo").status == 400)
                #expect(try EndToEnd.s3().lastModified(bound.key) == nil)
            }
        }

        @Test func `a form is held to its size, type and key by the store itself`() throws {
            try Stack.run("form", .init(nginx: true, s3: true)) { stack in
                let reply = try stack.askNginx(
                    Self.post(
                        Tokens.fresh(), "/v2/attachments/presigned-post",
                        #"{"contentType":"image/jpeg","maximumBytes":1000}"#))
                #expect(reply.status == 200)
                let large = try send(reply, file: String(repeating: "x", count: 1001))
                #expect(large.status == 400 && large.text.contains("<Code>EntityTooLarge</Code>"))
                #expect(try send(reply, file: "").status == 400)
                #expect(try send(reply, file: "a page", otherwise: ["Content-Type": "text/html"]).status == 403)
                #expect(try send(reply, file: "a photo", otherwise: ["key": "other.bin"]).status == 403)
                let key = try #require(reply["objectKey"])
                #expect(try EndToEnd.s3().lastModified(key) == nil)
                #expect(try send(reply, file: String(repeating: "x", count: 1000)).status == 204)
                #expect(try EndToEnd.s3().lastModified(key) != nil)
            }
        }

        @Test func `a form ends`() throws {
            try Stack.run("late", .init(nginx: true, s3: true) { $0["uploads.lifetimeSeconds"] = 1 }) { stack in
                let reply = try stack.askNginx(
                    Self.post(Tokens.fresh(), "/v2/attachments/presigned-post", #"{"contentType":"image/jpeg"}"#))
                let end = try Date(try #require(reply["expiresAt"]), strategy: .iso8601)
                try wait(for: "the form's end") { Date() > end.addingTimeInterval(0.1) }
                #expect(try send(reply, file: "a photo").status == 403)
            }
        }

        @Test func `an upload in parts is whole, or there is none`() throws {
            try Stack.run("parts", .init(workers: 2, nginx: true, s3: true, settings: Self.multipart)) { stack in
                let token = Tokens.fresh()
                let begun = try stack.askNginx(
                    Self.post(token, "/v2/uploads", #"{"contentType":"video/mp4","contentLength":8388611}"#))
                #expect(begun.status == 200)
                let upload = "/v2/uploads/\(try #require(begun["uploadId"]))"
                #expect(begun.json["partCount"] as? Int == 2)
                #expect(try stack.askNginx(.get("\(upload)/parts?numbers=1", token: Tokens.fresh())).status == 404)
                let reply = try stack.askNginx(.get("\(upload)/parts?numbers=1-2", token: token))
                let parts = try #require(reply.json["parts"] as? [[String: Any]])
                let urls = parts.compactMap { $0["uploadUrl"] as? String }
                for url in urls { Secrets.keep(Presigned.signature(url)) }
                #expect(urls.count == 2)
                let first = try Curl.run("PUT", urls[0], body: String(repeating: "x", count: 8_388_608))
                #expect(first.status == 200)
                let incomplete = try stack.askNginx(Self.post(token, "\(upload)/complete"))
                #expect(
                    incomplete.told
                        == #"409 {"error":"Part 2 has not been uploaded","code":"upload_incomplete","reason":"part_missing"}"#
                )
                #expect(try Curl.run("PUT", urls[1], body: "four").status == 403)
                let second = try Curl.run("PUT", urls[1], body: "end")
                let tags = [first, second].compactMap { $0.fields["etag"] }.map { $0.replacing("\"", with: "") }
                let body = #"{"etags":["\#(tags.joined(separator: "\",\""))"]}"#
                #expect(try stack.askNginx(Self.post(Tokens.fresh(), "\(upload)/complete", body)).status == 404)
                for _ in 0..<2 {
                    let done = try stack.askNginx(Self.post(token, "\(upload)/complete", body))
                    #expect(done.status == 200 && done["assetUrl"] == begun["assetUrl"], "\(done.told)")
                }
                let stored = try EndToEnd.s3().head(try #require(begun["objectKey"]))
                #expect(stored.status == 200 && stored.fields["content-length"] == "8388611")
                #expect(stored.fields["content-type"] == "video/mp4")
                // No route, and the id is no more in the log for that.
                #expect(try stack.askNginx(.get("\(upload)/Parts/1?x", token: token)).status == 404)
                let access = RunFolder.text(of: "\(stack.folder)/nginx/access.log")
                #expect(access.contains(#""path":"/v2/uploads/{id}/parts""#) && !access.contains(upload))
            }
        }

        @Test func `what was given up takes no more parts`() throws {
            try Stack.run("given-up", .init(nginx: true, s3: true, settings: Self.multipart)) { stack in
                let token = Tokens.fresh()
                let begun = try stack.askNginx(
                    Self.post(token, "/v2/uploads", #"{"contentType":"video/mp4","contentLength":3}"#))
                let upload = "/v2/uploads/\(try #require(begun["uploadId"]))"
                let reply = try stack.askNginx(.get("\(upload)/parts?numbers=1", token: token))
                let url = try #require((reply.json["parts"] as? [[String: Any]])?.first?["uploadUrl"] as? String)
                Secrets.keep(Presigned.signature(url))
                let giveUp = TestRequest(method: "DELETE", target: upload, fields: ["X-Convos-AuthToken": token])
                #expect(try stack.askNginx(giveUp).status == 200)
                #expect(try Curl.run("PUT", url, body: "end").status == 404)
                let gone = #"404 {"error":"No such upload","code":"upload_not_found"}"#
                #expect(try stack.askNginx(Self.post(token, "\(upload)/complete")).told == gone)
            }
        }
    }
}
