import CloakroomWire
import Testing

/// What the kit writes, the worker reads.
struct WireRequestTests {
    private func text(_ request: some WireEncodable) -> String { String(decoding: request.encoded, as: UTF8.self) }

    @Test func `a request for credentials comes back as it was`() throws {
        for request in [
            CredentialRequest(), CredentialRequest(scope: "read \"only\""), CredentialRequest(lifetimeSeconds: 900),
            CredentialRequest(scope: "s", lifetimeSeconds: 900),
        ] {
            #expect(try CredentialRequest(parsing: request.encoded) == request)
        }
        #expect(text(CredentialRequest(scope: "s", lifetimeSeconds: 900)) == #"{"scope":"s","lifetimeSeconds":900}"#)
    }

    @Test func `a renewal's keys come back byte for byte`() throws {
        let keys = ["a/b.bin", "\u{E9}", "e\u{301}", "\"\\\n\u{0}", "a/b.bin", ""]
        let request = try RenewBatchRequest(parsing: RenewBatchRequest(assetKeys: keys).encoded)
        #expect(request.assetKeys.map { Array($0.utf8) } == keys.map { Array($0.utf8) })
        #expect(text(RenewBatchRequest(assetKeys: ["a/b"])) == #"{"assetKeys":["a/b"]}"#)
        for key in keys {
            let one = try RenewOneRequest(parsing: RenewOneRequest(assetKey: key).encoded)
            #expect(Array(one.assetKey.utf8) == Array(key.utf8))
        }
    }

    @Test func `null says as little as no member`() throws {
        #expect(
            try CredentialRequest(parsing: Array(#"{"scope":null,"lifetimeSeconds":null}"#.utf8)) == CredentialRequest()
        )
        let post = #"{"contentType":"image/png","maximumBytes":null,"sha256":null,"filename":null}"#
        #expect(
            try PostUploadRequest(parsing: Array(post.utf8))
                == PostUploadRequest(contentType: "image/png", maximumBytes: nil, sha256: nil))
        let multipart = #"{"contentType":"image/png","contentLength":9,"sha256":null}"#
        #expect(
            try MultipartUploadRequest(parsing: Array(multipart.utf8))
                == MultipartUploadRequest(contentType: "image/png", contentLength: 9, sha256: nil))
        #expect(try CompletionRequest(parsing: Array(#"{"etags":null}"#.utf8)) == CompletionRequest(etags: nil))
        #expect(throws: CredentialRequest.ParsingError.self) {
            try CredentialRequest(parsing: Array(#"{"scoop":null}"#.utf8))
        }
        #expect(throws: UploadRequestError.self) { try CompletionRequest(parsing: Array(#"{"tags":null}"#.utf8)) }
    }

    @Test func `requests for uploads come back as they were`() throws {
        for request in [
            PostUploadRequest(contentType: "image/png", maximumBytes: nil, sha256: nil),
            PostUploadRequest(contentType: "image/png", maximumBytes: 9, sha256: "00ff"),
        ] {
            #expect(try PostUploadRequest(parsing: request.encoded) == request)
        }
        let multipart = MultipartUploadRequest(contentType: "video/mp4", contentLength: 1 << 40, sha256: "00ff")
        #expect(try MultipartUploadRequest(parsing: multipart.encoded) == multipart)
        #expect(text(multipart) == #"{"contentType":"video/mp4","contentLength":1099511627776,"sha256":"00ff"}"#)
        for request in [CompletionRequest(etags: nil), CompletionRequest(etags: ["\"1\"", "2"])] {
            #expect(try CompletionRequest(parsing: request.encoded) == request)
        }
    }
}
