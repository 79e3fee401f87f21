import Foundation
import Testing

extension EndToEnd {
    /// The main job, through nginx, on a real S3.
    @Suite struct MainJob {
        @Test func `credentials open the user's own prefix, and S3 refuses everything else`() throws {
            try Stack.run("scope", .init(workers: 2, nginx: true, s3: true)) { stack in
                let s3 = try EndToEnd.s3()
                let reply = try stack.askNginx(.vend(Tokens.token(user: "u_1", device: "scope")))
                #expect(reply.status == 200)
                #expect(Set(reply.json.keys) == ["credentials", "region", "bucket", "userId", "prefixes"])
                #expect(reply["userId"] == "u_1")
                #expect(
                    reply.json["prefixes"] as? [String: String] == [
                        "photos": "photos/u_1/", "thumbnails": "thumbnails/u_1/", "metadata": "metadata/u_1/",
                    ])
                #expect(reply["region"] == SeaweedFS.region)
                #expect(reply["bucket"] == SeaweedFS.bucket)
                let vended = try Vended(reply)
                for (method, key, expected) in [
                    ("PUT", "photos/u_1/a.jpg", 200), ("GET", "photos/u_1/a.jpg", 200),
                    ("PUT", "thumbnails/u_1/a.jpg", 200), ("PUT", "metadata/u_1/a.json", 200),
                    ("PUT", "photos/u_10/a.jpg", 403), ("GET", "photos/u_10/a.jpg", 403),
                    ("PUT", "photos/u_2/a.jpg", 403), ("PUT", "a.jpg", 403), ("PUT", "secrets/u_1/a.jpg", 403),
                ] {
                    let answer = try vended.ask(method, "\(s3.url)/\(SeaweedFS.bucket)/\(key)")
                    #expect(answer.status == expected, "\(method) \(key)")
                }
            }
        }

        @Test func `neighbours whose ids begin alike do not reach each other`() throws {
            try Stack.run("neighbours", .init(nginx: true, s3: true)) { stack in
                let s3 = try EndToEnd.s3()
                let ten = try Vended(try stack.askNginx(.vend(Tokens.token(user: "n_10"))))
                let one = try Vended(try stack.askNginx(.vend(Tokens.token(user: "n_1"))))
                let object = "\(s3.url)/\(SeaweedFS.bucket)/photos/n_10/a.jpg"
                #expect(try ten.ask("PUT", object).status == 200)
                #expect(try one.ask("GET", object).status == 403)
                #expect(try ten.ask("PUT", "\(s3.url)/\(SeaweedFS.bucket)/photos/n_1/a.jpg").status == 403)
            }
        }

        @Test func `the container credentials are what AWS SDKs read, for a bare token too`() throws {
            try Stack.run("container", .init(nginx: true, s3: true)) { stack in
                let token = Tokens.fresh()
                for value in [token, "Bearer \(token)"] {
                    let reply = try stack.askNginx(
                        TestRequest(target: "/v1/credentials", fields: ["Authorization": value]))
                    #expect(reply.status == 200)
                    #expect(Set(reply.json.keys) == ["AccessKeyId", "SecretAccessKey", "Token", "Expiration"])
                    let expiration = try #require(reply["Expiration"])
                    #expect(expiration.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
                    for name in ["SecretAccessKey", "Token"] { Secrets.keep(reply[name] ?? "") }
                }
                let bareElsewhere = TestRequest(
                    method: "POST", target: "/api/v1/auth/sts-token", fields: ["Authorization": token])
                #expect(
                    try stack.askNginx(bareElsewhere).told
                        == #"401 {"error":"Missing auth token","code":"unauthorized"}"#)
            }
        }

        @Test func `a presigned URL takes one upload, with the headers it names`() throws {
            try Stack.run("upload", .init(nginx: true, s3: true)) { stack in
                let reply = try stack.askNginx(.presign(Tokens.fresh()))
                #expect(reply.status == 200)
                #expect(
                    Set(reply.json.keys) == ["objectKey", "uploadUrl", "assetUrl", "url", "expiresAt", "headers"])
                #expect(reply["url"] == reply["assetUrl"])
                let url = try #require(reply["uploadUrl"])
                Secrets.keep(Presigned.signature(url))
                let fields = try #require(reply.json["headers"] as? [String: String])
                #expect(try Curl.run("PUT", url, fields: fields, body: "a photo").status == 200)
                var other = fields
                other["Content-Type"] = "text/html"
                #expect(try Curl.run("PUT", url, fields: other, body: "a page").status == 403)
                let key = try #require(reply["objectKey"])
                #expect(try EndToEnd.s3().lastModified(key) != nil)
            }
        }

        @Test func `an upload URL takes no field that was not signed`() throws {
            try Stack.run("unsigned", .init(nginx: true, s3: true)) { stack in
                let s3 = try EndToEnd.s3()
                try UnsignedFields.check(stack, bucket: SeaweedFS.bucket) { try s3.put($0) }
            }
        }

        @Test func `renewal moves what is there, names what is not, and echoes every key in order`() throws {
            try Stack.run("renewal", .init(workers: 2, nginx: true, s3: true)) { stack in
                let s3 = try EndToEnd.s3()
                let (first, second) = ("renew-1.bin", "renew-2.bin")
                try s3.put(first)
                try s3.put(second)
                let before = (try #require(try s3.lastModified(first)), try #require(try s3.lastModified(second)))
                // Last-Modified has whole seconds: renew only once that second has passed.
                try wait(for: "the next second") { try httpDate(before.1) + 1.1 < Date().timeIntervalSince1970 }
                let keys = [first, "nobody-has-this.bin", second, first, "../escape", ""]
                let reply = try stack.askNginx(.renew(Tokens.fresh(), keys))
                #expect(reply.status == 200)
                #expect(reply.json["renewed"] as? Int == 3)
                #expect(reply.json["failed"] as? Int == 3)
                let results = try #require(reply.json["results"] as? [[String: Any]])
                #expect(results.map { $0["key"] as? String } == keys)
                #expect(results.map { $0["success"] as? Bool } == [true, false, true, true, false, false])
                #expect(
                    results.map { $0["error"] as? String }
                        == [nil, "not_found", nil, nil, "invalid_key", "invalid_key"])
                for result in results where result["success"] as? Bool == true {
                    #expect((result["expiresAt"] as? String)?.hasSuffix("Z") == true)
                }
                for (key, before) in [(first, before.0), (second, before.1)] {
                    let after = try #require(try s3.lastModified(key))
                    #expect(try httpDate(after) > httpDate(before))
                }
            }
        }

        @Test func `renewal finds old and new keys at each place that the settings name`() throws {
            let options = Stack.Options(workers: 2, nginx: true, s3: true, settings: RenewalPlaces.change)
            try Stack.run("places", options) { stack in
                let s3 = try EndToEnd.s3()
                try RenewalPlaces.check(stack) { try s3.put($0) }
            }
        }

        @Test func `one key is renewed by PUT`() throws {
            try Stack.run("renew-one", .init(nginx: true, s3: true)) { stack in
                try EndToEnd.s3().put("renew-one.bin")
                let token = Tokens.fresh()
                func put(_ body: String) throws -> TestResponse {
                    var ask = TestRequest.renew(token, body: body)
                    (ask.method, ask.target) = ("PUT", "/v2/assets/renew")
                    return try stack.askNginx(ask)
                }
                let renewed = try put(#"{"assetKey":"renew-one.bin"}"#)
                #expect(renewed.status == 200)
                #expect(renewed["key"] == "renew-one.bin")
                #expect(renewed.json["success"] as? Bool == true)
                #expect(
                    try put(#"{"assetKey":"gone.bin"}"#).told
                        == #"200 {"key":"gone.bin","success":false,"error":"not_found"}"#)
                #expect(
                    try put(#"{"assetKey":7}"#).told
                        == #"400 {"error":"Invalid request body","code":"invalid_request"}"#)
            }
        }

        @Test func `the eleventh batch of the hour is one too many, on whichever worker`() throws {
            try Stack.run("limit", .init(workers: 2, nginx: true, s3: true)) { stack in
                try stack.waitUntilReady(worker: 2)
                let token = Tokens.fresh()
                for number in 1...10 {
                    let reply = try stack.askNginx(.renew(token, ["gone.bin"]))
                    #expect(reply.status == 200)
                    #expect(
                        reply.fields["ratelimit-policy"]
                            == #""renew";q=10;w=3600, "renewKeys";q=1000;w=3600;qu="keys", "#
                            + #""renewUser";q=40;w=3600, "renewKeysUser";q=4000;w=3600;qu="keys""#)
                    let left = try #require(
                        reply.fields["ratelimit"]?.wholeMatch(
                            of: /"renew";r=(\d+);t=(\d+), "renewKeys";r=(\d+);t=\d+, "renewUser";r=(\d+);t=.*/))
                    #expect(Int(left.1) == 10 - number)
                    #expect((3590...3600).contains(Int(left.2) ?? 0))
                    #expect(Int(left.3) == 1000 - number && Int(left.4) == 40 - number)
                    #expect(reply.fields["retry-after"] == nil)
                }
                let reply = try stack.askNginx(.renew(token, ["gone.bin"]))
                #expect(reply.told == #"429 {"error":"Too many renewal requests","code":"too_many_requests"}"#)
                #expect(reply.fields["ratelimit"]?.hasPrefix(#""renew";r=0;t="#) == true)
                #expect((3590...3600).contains(Int(reply.fields["retry-after"] ?? "") ?? 0))
                // Another device has a window of its own.
                #expect(try stack.askNginx(.renew(Tokens.fresh(), ["gone.bin"])).status == 200)
            }
        }
    }
}

/// Credentials as a client got them.
struct Vended {
    let key, secret, session: String

    init(_ reply: TestResponse) throws {
        let credentials = try #require(reply.json["credentials"] as? [String: String], "\(reply.status)")
        #expect(Set(credentials.keys) == ["accessKeyId", "secretAccessKey", "sessionToken", "expiration"])
        key = try #require(credentials["accessKeyId"])
        secret = Secrets.keep(try #require(credentials["secretAccessKey"]))
        session = Secrets.keep(try #require(credentials["sessionToken"]))
    }

    func ask(_ method: String, _ url: String) throws -> TestResponse {
        try Curl.signed(
            method, url, key: key, secret: secret, session: session, body: method == "PUT" ? "bytes" : nil)
    }
}

enum Presigned {
    /// The part of a presigned URL that must stay between S3 and the client.
    static func signature(_ url: String) -> String {
        url.firstMatch(of: /X-Amz-Signature=([0-9a-f]+)/).map { String($0.1) } ?? ""
    }
}

/// - Returns: seconds since 1970.
func httpDate(_ text: String) throws -> Double {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return try #require(format.date(from: text)).timeIntervalSince1970
}
