import Testing

@testable import Service

struct UploadRequestTests {
    private func outcome(_ query: String) -> Result<UploadRequest, UploadRequest.Failure> {
        Result { () throws(UploadRequest.Failure) in
            try UploadRequest(query: query, allowedTypes: ["image/jpeg", "image/svg+xml"])
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
            ("contentType=image/jpeg&contentLength=0", .contentLength),
            ("contentType=image/jpeg&contentLength=-1", .contentLength),
            ("contentType=image/jpeg&contentLength=5368709121", .contentLength),
            ("contentType=image/jpeg&contentLength=1e3", .contentLength),
            ("contentType=image/jpeg&contentLength=%201", .contentLength),
            ("contentType=image/jpeg&contentLength=99999999999999999999", .contentLength),
            ("contentType=image/jpeg&contentLength=", .contentLength), ("contentType=image/jpeg&sha256=", .checksum),
            ("contentType=image/jpeg&sha256=\(String(repeating: "g", count: 64))", .checksum),
            ("contentType=image/jpeg&sha256=AAAA", .checksum), ("contentType=image/jpeg&sha256=not+base64", .checksum),
            ("contentType=image/jpeg&contentType=image/jpeg", .malformed), ("contentType=%", .malformed),
            ("contentType=%4", .malformed), ("contentType=%zz", .malformed), ("contentType=%ff", .malformed),
            ("a=%c3%28&contentType=image/jpeg", .malformed), ("a=1&%61=2&contentType=image/jpeg", .malformed),
        ] as [(String, UploadRequest.Failure)])
    func `refuses`(query: String, failure: UploadRequest.Failure) { #expect(outcome(query) == .failure(failure)) }

    @Test func `decodes names and values once`() {
        let parameters = QueryParameters("a%3Db=%2541&c=d=e&f&=g&%C3%A4=%F0%9F%98%80")
        let names = ["a=b", "c", "f", "", "ä", "g"]
        #expect(names.map { parameters?[$0] } == ["%41", "d=e", "", "g", "😀", nil])
    }
}
