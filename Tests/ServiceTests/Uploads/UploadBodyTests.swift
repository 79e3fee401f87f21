import Testing

@testable import CloakroomServer

struct UploadBodyTests {
    private static let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let base64 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test func `reads what a client says of a form's object`() throws {
        let rules = try uploadRules("maximumBytes: 100")
        let least = try PostUploadParameters(
            parsing: Array(#"{"contentType":"image/jpeg","filename":"../../etc"}"#.utf8), rules: rules)
        #expect(least.contentType == "image/jpeg" && least.maximumBytes == 100 && least.checksum == nil)
        let most = try PostUploadParameters(
            parsing: Array(#"{"contentType":"image/jpeg","maximumBytes":7,"sha256":"\#(Self.digest)"}"#.utf8),
            rules: rules)
        #expect(most.maximumBytes == 7 && most.checksum == Self.base64)
        let huge = try uploadRules("maximumBytes: 53687091200000")
        #expect(huge.maximumBytesAtOnce == 5_368_709_120)
    }

    @Test(
        arguments: [
            ("", .malformedBody), ("[]", .malformedBody), ("{}", .noContentType),
            (#"{"contentType":1}"#, .malformedBody), (#"{"contentType":"text/html"}"#, .contentType),
            (#"{"contentType":"image/jpeg","maximumByte":5}"#, .malformedBody),
            (#"{"contentType":"image/jpeg","contentType":"image/jpeg"}"#, .malformedBody),
            (#"{"contentType":"image/jpeg","maximumBytes":"5"}"#, .malformedBody),
            (#"{"contentType":"image/jpeg","maximumBytes":1.5}"#, .malformedBody),
            (#"{"contentType":"image/jpeg","maximumBytes":0}"#, .length(name: "maximumBytes", maximum: 100)),
            (#"{"contentType":"image/jpeg","maximumBytes":-5}"#, .length(name: "maximumBytes", maximum: 100)),
            (#"{"contentType":"image/jpeg","maximumBytes":101}"#, .length(name: "maximumBytes", maximum: 100)),
            (#"{"contentType":"image/jpeg","maximumBytes":1e30}"#, .malformedBody),
            (#"{"contentType":"image/jpeg","sha256":"AAAA"}"#, .checksum),
        ] as [(String, UploadRules.Refusal)])
    func `refuses a form of`(body: String, refusal: UploadRules.Refusal) throws {
        let rules = try uploadRules("maximumBytes: 100")
        #expect(throws: refusal) { try PostUploadParameters(parsing: Array(body.utf8), rules: rules) }
    }

    @Test func `plans the parts of what a client announces`() throws {
        let upload = try MultipartUploadParameters(
            parsing: Array(
                #"{"contentType":"image/jpeg","contentLength":9000000,"sha256":"\#(Self.base64)"}"#.utf8),
            rules: try uploadRules())
        #expect(upload.plan == MultipartLayout(byteCount: 9_000_000) && upload.plan.partCount == 2)
        // As metadata, in the spelling that tools print.
        #expect(upload.checksum == Self.digest)
    }

    @Test(
        arguments: [
            (#"{"contentType":"image/jpeg"}"#, .noLength(name: "contentLength")), ("{", .malformedBody),
            (#"{"contentType":"image/jpeg","contentLength":101}"#, .length(name: "contentLength", maximum: 100)),
            (#"{"contentType":"image/jpeg","contentLength":0}"#, .length(name: "contentLength", maximum: 100)),
            (#"{"contentType":"image/jpeg","contentLength":1,"parts":5}"#, .malformedBody),
            (#"{"contentLength":1}"#, .noContentType),
        ] as [(String, UploadRules.Refusal)])
    func `refuses an upload in parts of`(body: String, refusal: UploadRules.Refusal) throws {
        let rules = try uploadRules("maximumBytes: 100")
        #expect(throws: refusal) { try MultipartUploadParameters(parsing: Array(body.utf8), rules: rules) }
    }
}
