import Foundation
import Testing

/// Images of chats on one store: uploaded, released, and never renewed.
enum ReleasePlaces {
    static func change(_ mode: String, _ settings: inout TestSettings) {
        settings["uploads.keyPrefix"] = "release-assets/"
        settings["uploads.chatKeyPrefix"] = "chats/"
        settings["lifecycle.prefixes"] = ["release-assets/"]
        settings["release.mode"] = mode
        settings["release.keys"] = [["env": "TEST_TOKEN_SECRET"]]
        settings["limits.release.requests"] = 1000
    }

    struct Image {
        let key: String
        let token: String
    }

    /// Uploads an image of a chat as an app does.
    static func upload(_ stack: Stack, as user: String, _ bytes: String = "an image") throws -> Image {
        let reply = try stack.askNginx(
            .presign(Tokens.token(user: user), query: "contentType=image/png&purpose=chat"))
        #expect(reply.status == 200, "\(reply.told)")
        let (key, token) = (try #require(reply["objectKey"]), try #require(reply["releaseToken"]))
        Secrets.keep(token)
        let url = try #require(reply["uploadUrl"])
        Secrets.keep(Presigned.signature(url))
        let put = try Curl.run(
            "PUT", url, fields: try #require(reply.json["headers"] as? [String: String]), body: bytes)
        #expect(put.status == 200, "\(put.told)")
        #expect(key.hasPrefix("chats/"))
        return Image(key: key, token: token)
    }

    /// - Returns: for each image `success`, or why not.
    static func release(_ stack: Stack, _ images: [Image], as user: String) throws -> [String] {
        let json = images.map { #"{"key":"\#($0.key)","releaseToken":"\#($0.token)"}"# }.joined(separator: ",")
        let reply = try stack.askNginx(
            .post("/v2/assets/release-batch", token: Tokens.token(user: user), json: #"{"images":[\#(json)]}"#))
        #expect(reply.status == 200, "\(reply.told)")
        let results = try #require(reply.json["results"] as? [[String: Any]])
        #expect(results.map { $0["key"] as? String } == images.map(\.key))
        return results.map { $0["success"] as? Bool == true ? "success" : $0["error"] as? String ?? "?" }
    }

    /// What holds in both modes until the image is gone.
    ///
    /// - Parameters:
    ///   - status: of GET as the worker's own identity.
    ///   - goes: waits until a released image is gone.
    static func check(
        _ stack: Stack, status: (String) throws -> Int, goes: (Image) throws -> Void
    ) throws {
        let (image, kept) = (try upload(stack, as: "v_1"), try upload(stack, as: "v_1"))
        #expect(try status(image.key) == 200)
        // Neither the wrong token nor another user, nor a key that is no image of a chat.
        let crossed = Image(key: image.key, token: kept.token)
        let outside = Image(key: "release-assets/a.bin", token: image.token)
        #expect(try release(stack, [crossed, outside], as: "v_1") == ["forbidden", "forbidden"])
        #expect(try release(stack, [image], as: "v_2") == ["forbidden"])
        #expect(try status(image.key) == 200)
        // No renewal, whatever the client calls it.
        let name = String(image.key.dropFirst("chats/".count))
        let renewal = try stack.askNginx(.renew(Tokens.fresh(), [image.key, name, "release-nothing.bin"]))
        let results = try #require(renewal.json["results"] as? [[String: Any]], "\(renewal.told)")
        #expect(results.map { $0["error"] as? String } == ["forbidden", "forbidden", "not_found"])

        let never = Image(key: kept.key, token: "v1.AAAA")
        #expect(try release(stack, [image, never, image], as: "v_1") == ["success", "forbidden", "success"])
        try goes(image)
        #expect([403, 404].contains(try status(image.key)))
        #expect(try status(kept.key) == 200)
        #expect(try release(stack, [image], as: "v_1") == ["success"])
        let lines = RunFolder.text(of: stack.auditFile).split(separator: "\n").filter {
            $0.contains(#""audit":"released""#)
        }
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(image.key) && !$0.contains(kept.key) })
        #expect(try release(stack, [kept], as: "v_1") == ["success"])
        try goes(kept)
        #expect([403, 404].contains(try status(kept.key)))
        let metrics = Metrics(try stack.ask(.metrics).text)
        #expect(metrics.sum("cloakroom_releases_total", ["outcome": "foreign"]) == 4)
    }
}
