import Testing

@testable import CloakroomServer

/// Rules of settings with two types, and these.
func uploadRules(_ uploads: String = "") throws -> UploadRules {
    UploadRules(
        try settings(smallest("uploads: {contentTypes: [\"image/jpeg\", \"image/svg+xml\"], \(uploads)}")).uploads)
}

struct PutUploadParametersTests {
    private func outcome(_ query: String, _ uploads: String = "") -> Result<PutUploadParameters, UploadRules.Refusal> {
        Result { () throws(UploadRules.Refusal) in
            guard let rules = try? uploadRules(uploads) else { throw .malformedBody }
            return try PutUploadParameters(query: query, rules: rules)
        }
    }

    @Test func `reads what a client says of its object`() throws {
        let hexadecimal = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        let base64 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        for digest in [
            hexadecimal, hexadecimal.uppercased(), "47DEQpj8HBSa%2B%2FTImW%2B5JCeuQeRkm5NMpJWZG3hSuFU%3D", base64,
        ] {
            let request = try outcome("contentType=image/jpeg&contentLength=5368709120&sha256=\(digest)").get()
            #expect(request.contentType == "image/jpeg" && request.contentLength == 5_368_709_120)
            #expect(request.checksum == base64)
        }
        let least = try outcome("filename=..%2F..%2Fetc&contentType=image%2fjpeg&unknown").get()
        #expect(least.contentType == "image/jpeg" && least.contentLength == nil && least.checksum == nil)
        // As in RFC 3986, not as in forms.
        #expect(try outcome("contentType=image/svg+xml").get().contentType == "image/svg+xml")
    }

    @Test(
        arguments: [
            ("", .noContentType), ("contentType=", .noContentType), ("contenttype=image/jpeg", .noContentType),
            ("contentType=text/html", .contentType), ("contentType=image/jpeg%00", .contentType),
            ("contentType=image/jpeg;x", .contentType), ("contentType=IMAGE/JPEG", .contentType),
            ("contentType=image/jpeg&contentLength=0", length),
            ("contentType=image/jpeg&contentLength=-1", length),
            ("contentType=image/jpeg&contentLength=5368709121", length),
            ("contentType=image/jpeg&contentLength=1e3", length),
            ("contentType=image/jpeg&contentLength=%201", length),
            ("contentType=image/jpeg&contentLength=99999999999999999999", length),
            ("contentType=image/jpeg&contentLength=", length), ("contentType=image/jpeg&sha256=", .checksum),
            ("contentType=image/jpeg&sha256=\(String(repeating: "g", count: 64))", .checksum),
            ("contentType=image/jpeg&sha256=AAAA", .checksum), ("contentType=image/jpeg&sha256=not+base64", .checksum),
            ("contentType=image/jpeg&contentType=image/jpeg", .malformedQuery), ("contentType=%", .malformedQuery),
            ("contentType=%4", .malformedQuery), ("contentType=%zz", .malformedQuery),
            ("contentType=%ff", .malformedQuery),
            ("a=%c3%28&contentType=image/jpeg", .malformedQuery), ("a=1&%61=2&contentType=image/jpeg", .malformedQuery),
        ] as [(String, UploadRules.Refusal)])
    func `refuses`(query: String, failure: UploadRules.Refusal) { #expect(outcome(query) == .failure(failure)) }

    private static let length = UploadRules.Refusal.length(name: "contentLength", maximum: 5_368_709_120)

    @Test func `takes no more than the settings allow, and asks for a length where they want one`() throws {
        let query = "contentType=image/jpeg"
        #expect(try outcome("\(query)&contentLength=10", "maximumBytes: 10").get().contentLength == 10)
        #expect(
            outcome("\(query)&contentLength=11", "maximumBytes: 10")
                == .failure(.length(name: "contentLength", maximum: 10)))
        #expect(outcome(query, "requireContentLength: true") == .failure(.noLength(name: "contentLength")))
        #expect(try outcome("\(query)&contentLength=1", "requireContentLength: true").get().contentLength == 1)
        #expect(try uploadRules().assumedBytes == 16_777_216)
        #expect(try uploadRules("maximumBytes: 10").assumedBytes == 10)
    }
}
