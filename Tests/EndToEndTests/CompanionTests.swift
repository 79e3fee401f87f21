import Foundation
import Testing

extension EndToEnd {
    /// Uploads as Uppy 4 and 5 make them by Companion's wire, to a real store.
    @Suite struct Companion {
        private static let page = "https://app.example"

        private static var options: Stack.Options {
            var options = Stack.Options(workers: 2, nginx: true, s3: true)
            options.settings = {
                $0["web.origins"] = [page]
                $0["web.companion"] = true
                $0["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]]
                $0["uploads.keyPrefix"] = "assets/"
                $0["events.stream"] = "events"
            }
            options.nginxFiles = { ["cors.conf": try Command(["nginx-cors", $0.settingsFile]).text] }
            return options
        }

        /// As Uppy's client sends it.
        private static func ask(
            _ stack: Stack, _ method: String, _ target: String, token: String, json: String = ""
        ) throws -> TestResponse {
            var ask = TestRequest(
                method: method, target: "/companion/s3/\(target)",
                fields: [
                    "Authorization": "Bearer \(token)", "Origin": page, "Accept": "application/json",
                    "Content-Type": "application/json", "Uppy-Versions": "@uppy/companion-client=4.4.1",
                ])
            ask.body = Array(json.utf8)
            let reply = try stack.askNginx(ask)
            #expect(reply.fields["access-control-allow-origin"] == page)
            return reply
        }

        @Test func `a form uploads a file with its metadata`() throws {
            try Stack.run("companion-form", Self.options) { stack in
                let reply = try Self.ask(
                    stack, "GET", "params?filename=a+b.jpg&type=image%2Fjpeg&metadata%5Bname%5D=gr%C3%BCn.jpg",
                    token: Tokens.fresh())
                #expect(reply.status == 200 && reply["method"] == "POST", "\(reply.told)")
                let fields = try #require(reply.json["fields"] as? [String: String])
                for name in ["policy", "x-amz-signature"] { Secrets.keep(fields[name] ?? "") }
                let folder = try RunFolder.make("companion")
                try "a photo".write(toFile: "\(folder)/file", atomically: false, encoding: .utf8)
                let lines = fields.map { "form-string = \"\($0)=\($1)\"\n" }
                let sent = try Curl.run(
                    "POST", try #require(reply["url"]),
                    configuration: lines.joined() + "form = \"file=@\(folder)/file\"\n")
                #expect(sent.status == 201 && sent.fields["etag"] != nil, "\(sent.told)")
                let stored = try EndToEnd.s3().head(try #require(fields["key"]))
                #expect(stored.status == 200 && stored.fields["content-type"] == "image/jpeg")
                #expect(stored.fields["x-amz-meta-name"] == "=?UTF-8?B?Z3LDvG4uanBn?=", "\(stored.fields)")
            }
        }

        @Test func `an upload in parts of any length is completed, and one can be given up`() throws {
            try Stack.run("companion-parts", Self.options) { stack in
                let token = Tokens.fresh()
                func begin() throws -> (upload: String, key: String, query: String) {
                    let begun = try Self.ask(
                        stack, "POST", "multipart", token: token,
                        json: #"{"filename":"a.mp4","type":"video/mp4","metadata":{"name":"a.mp4"}}"#)
                    #expect(begun.status == 200 && begun["bucket"] == SeaweedFS.bucket, "\(begun.told)")
                    let key = try #require(begun["key"])
                    #expect(key.hasPrefix("assets/"))
                    return (
                        "multipart/\(try #require(begun["uploadId"]))", key,
                        "key=\(key.replacing("/", with: "%2F"))"
                    )
                }
                let (upload, key, query) = try begin()
                let one = try Self.ask(stack, "GET", "\(upload)/1?\(query)", token: token)
                let two = try Self.ask(stack, "GET", "\(upload)/batch?partNumbers=2,3&\(query)", token: token)
                let urls = [
                    try #require(one["url"]),
                    try #require((two.json["presignedUrls"] as? [String: String])?["2"]),
                ]
                for url in urls { Secrets.keep(Presigned.signature(url)) }
                let bodies = [String(repeating: "x", count: 5 << 20), "end"]
                let sent = try zip(urls, bodies).map { try Curl.run("PUT", $0, body: $1) }
                #expect(sent.map(\.status) == [200, 200], "\(sent.map(\.text))")
                let tags = sent.compactMap { $0.fields["etag"] }
                let listed = try Self.ask(stack, "GET", "\(upload)?\(query)", token: token)
                let parts = try #require(try JSONSerialization.jsonObject(with: Data(listed.body)) as? [[String: Any]])
                #expect(parts.compactMap { $0["Size"] as? Int } == [5 << 20, 3], "\(listed.told)")
                let foreign = try Self.ask(stack, "GET", "\(upload)?\(query)", token: Tokens.fresh())
                #expect(foreign.status == 404 && foreign["message"] == "No such upload")
                let named = zip(1..., tags).map { #"{"PartNumber":\#($0),"ETag":\#(Self.quoted($1))}"# }
                for _ in 0..<2 {
                    let done = try Self.ask(
                        stack, "POST", "\(upload)/complete?\(query)", token: token,
                        json: #"{"parts":[\#(named.joined(separator: ","))]}"#)
                    #expect(done.status == 200 && done["key"] == key, "\(done.told)")
                    #expect(done["location"]?.hasSuffix(key) == true)
                }
                let events = try stack.redis?.command("XRANGE cloakroom:{events} - +").joined(separator: " ") ?? ""
                #expect(events.contains("upload.completed") && events.contains(key), "\(events)")
                let stored = try EndToEnd.s3().head(key)
                #expect(
                    stored.fields["content-length"] == "\((5 << 20) + 3)" && stored.fields["x-amz-meta-name"] == "a.mp4"
                )
                let (other, _, otherQuery) = try begin()
                let given = try Self.ask(stack, "DELETE", "\(other)?\(otherQuery)", token: token)
                #expect(given.told == "200 {}")
                #expect(try Self.ask(stack, "GET", "\(other)?\(otherQuery)", token: token).status == 404)
                let access = RunFolder.text(of: "\(stack.folder)/nginx/access.log")
                #expect(access.contains(#""path":"/companion/s3/multipart/{id}/complete""#) && !access.contains(upload))
            }
        }

        @Test func `an upload that S3 does not complete counts no bytes`() throws {
            var options = Self.options
            options.workers = 1
            options.settings = { [settings = options.settings] in
                settings(&$0)
                $0["uploads.assumedBytes"] = 1000
                $0["limits.uploadBytes.bytes"] = 2_000_000
            }
            try Stack.run("companion-refused", options) { stack in
                let token = Tokens.fresh()
                let begun = try Self.ask(
                    stack, "POST", "multipart", token: token, json: #"{"type":"video/mp4","metadata":{}}"#)
                let upload = "multipart/\(try #require(begun["uploadId"]))"
                let query = "key=\(try #require(begun["key"]).replacing("/", with: "%2F"))"
                // S3 wants 5 MiB of all parts but the last.
                let signed = try Self.ask(stack, "GET", "\(upload)/batch?partNumbers=1,2&\(query)", token: token)
                let urls = try #require(signed.json["presignedUrls"] as? [String: String])
                for url in urls.values { Secrets.keep(Presigned.signature(url)) }
                let tags = try (1...2).map { number in
                    let sent = try Curl.run(
                        "PUT", try #require(urls["\(number)"]), body: String(repeating: "x", count: 300_000))
                    return try #require(sent.fields["etag"])
                }
                let named = zip(1..., tags).map { #"{"PartNumber":\#($0),"ETag":\#(Self.quoted($1))}"# }
                for _ in 0..<4 {
                    let refused = try Self.ask(
                        stack, "POST", "\(upload)/complete?\(query)", token: token,
                        json: #"{"parts":[\#(named.joined(separator: ","))]}"#)
                    #expect(refused.status == 409 && refused["reason"] == "parts_refused", "\(refused.told)")
                }
                let listed = try Self.ask(stack, "GET", "\(upload)?\(query)", token: token)
                #expect(listed.fields["ratelimit"]?.contains(#""uploadBytes";r=1999000;"#) == true, "\(listed.fields)")
            }
        }

        @Test func `credentials open the user's folder`() throws {
            try Stack.run("companion-sts", Self.options) { stack in
                let user = "u_companion"
                let reply = try Self.ask(stack, "GET", "sts", token: Tokens.token(user: user))
                #expect(reply.status == 200 && reply["bucket"] == SeaweedFS.bucket, "\(reply.status)")
                let credentials = try #require(reply.json["credentials"] as? [String: String])
                let (id, secret, session) = (
                    try #require(credentials["AccessKeyId"]), try #require(credentials["SecretAccessKey"]),
                    try #require(credentials["SessionToken"])
                )
                Secrets.keep(secret)
                Secrets.keep(session)
                let bucket = "\(try EndToEnd.s3().url)/\(SeaweedFS.bucket)"
                func put(_ key: String) throws -> Int {
                    let sent = try Curl.signed(
                        "PUT", "\(bucket)/\(key)", key: id, secret: secret, session: session, body: "bytes")
                    return sent.status
                }
                #expect(try put("photos/\(user)/a.jpg") == 200)
                #expect(try put("photos/another/a.jpg") == 403)
            }
        }

        private static func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\\\""))\"" }
    }
}
