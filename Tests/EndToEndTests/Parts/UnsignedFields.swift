import Testing

/// Fields that a client adds to an upload that was signed without them.
enum UnsignedFields {
    /// An upload URL stores what its client has, and nothing else.
    ///
    /// - Parameters:
    ///   - bucket: of the stack's store.
    ///   - put: stores an object under a key.
    static func check(_ stack: Stack, bucket: String, put: (String) throws -> Void) throws {
        let foreign = "photos/u_other/a.dat"
        try put(foreign)
        let reply = try stack.askNginx(.presign(Tokens.fresh()))
        let url = try #require(reply["uploadUrl"])
        Secrets.keep(Presigned.signature(url))
        let fields = try #require(reply.json["headers"] as? [String: String])
        for (added, body) in [
            (["x-amz-copy-source": "/\(bucket)/\(foreign)"], ""), (["x-amz-acl": "public-read"], "a photo"),
            (["x-amz-tagging": "a=b"], "a photo"),
        ] {
            let put = try Curl.run("PUT", url, fields: fields.merging(added) { $1 }, body: body)
            #expect(put.status == 403, "\(added): \(put.told)")
        }
        #expect(try Curl.run("PUT", url, fields: fields, body: "a photo").status == 200)
    }
}
