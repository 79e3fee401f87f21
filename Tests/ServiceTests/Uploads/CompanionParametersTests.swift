import CloakroomHTTP
import CloakroomTestSupport
import CloakroomWire
import Foundation
import Testing

@testable import CloakroomServer

struct CompanionParametersTests {
    private static let rules: UploadRules = {
        guard let settings = try? settings(smallest()) else { preconditionFailure("the smallest settings are good") }
        return UploadRules(settings.uploads)
    }()

    private static func query(_ query: String) throws -> CompanionParameters {
        try CompanionParameters(query: query, rules: rules)
    }

    private static func body(_ body: String) throws -> CompanionParameters {
        try CompanionParameters(parsing: Array(body.utf8), rules: rules)
    }

    @Test func `reads what Uppy says, in a query and in a body`() throws {
        let query = try Self.query(
            "filename=a+b.jpg&type=image%2Fjpeg&metadata%5Bname%5D=a+b.jpg&metadata%5BrelativePath%5D=x&other=1")
        #expect(query.contentType == "image/jpeg")
        #expect(query.metadata == ["x-amz-meta-name": "a b.jpg", "x-amz-meta-relativepath": "x"])
        let body = try Self.body(
            #"{"filename":"a.jpg","type":"image/jpeg","metadata":{"name":"a b.jpg","relativePath":"x","n":null},"new":[1]}"#
        )
        #expect(body == query)
        #expect(try Self.body(#"{"type":"image/jpeg"}"#).metadata.isEmpty)
    }

    @Test(arguments: ["5", "-12", "0", "9007199254740991", "1.5", "-48.137154", "0.001", "true", "false"])
    func `keeps numbers and booleans as the text that a query has of them`(value: String) throws {
        let body = try Self.body(#"{"type":"video/mp4","metadata":{"n":\#(value)}}"#)
        let query = try Self.query("type=video%2Fmp4&metadata%5Bn%5D=\(value)")
        #expect(body == query && body.metadata == ["x-amz-meta-n": value])
    }

    @Test func `reads numbers and booleans beside each other`() throws {
        let body = #"{"type":"video/mp4","metadata":{"n":5,"b":true}}"#
        #expect(try CompanionUploadRequest(parsing: Array(body.utf8)).metadata == ["n": "5", "b": "true"])
    }

    @Test(arguments: [
        ("plain text", "plain text"), ("", ""), ("gr\u{fc}n.jpg", "=?UTF-8?B?Z3LDvG4uanBn?="),
        ("a\r\nx-amz-acl: public-read", "=?UTF-8?B?YQ0KeC1hbXotYWNsOiBwdWJsaWMtcmVhZA==?="),
        (" a", "=?UTF-8?B?IGE=?="), ("a  b", "=?UTF-8?B?YSAgYg==?="),
        ("=?UTF-8?B?eA==?=", "=?UTF-8?B?PT9VVEYtOD9CP2VBPT0/PQ==?="),
    ])
    func `keeps metadata in ASCII, encoded where it has to be`(value: String, expected: String) {
        #expect(CompanionParameters.encoded(value) == expected)
    }

    @Test(arguments: [
        ("type=image/jpeg&type=image/png", UploadRules.Refusal.malformedQuery), ("filename=a.jpg", .noType),
        ("type=", .noType), ("type=text/html", .contentType), ("type=image/jpeg&metadata%5Ba%20b%5D=x", .metadata),
        ("type=image/jpeg&metadata%5B%5D=x", .metadata),
        ("type=image/jpeg&metadata%5Bn%5D=x&metadata%5BN%5D=y", .metadata),
        ("type=image/jpeg&metadata%5Bn%5D=" + String(repeating: "x", count: 2048), .metadata),
        ("type=%", .malformedQuery),
    ])
    func `refuses what S3 would not keep`(query: String, refusal: UploadRules.Refusal) {
        #expect(throws: refusal) { try Self.query(query) }
    }

    @Test(arguments: [
        "", "[]", #"{"type":1}"#, #"{"type":"image/jpeg","metadata":[]}"#,
        #"{"type":"image/jpeg","metadata":{"n":[1]}}"#, #"{"type":"image/jpeg","metadata":{"n":{"m":1}}}"#,
        // Other digits than these would be stored.
        #"{"type":"image/jpeg","metadata":{"n":9007199254740993}}"#, #"{"type":"image/jpeg","metadata":{"n":1e-7}}"#,
    ])
    func `refuses other bodies`(body: String) {
        #expect(throws: UploadRules.Refusal.malformedBody) { try Self.body(body) }
    }

    @Test func `reads numbers of parts`() throws {
        func numbers(_ text: String) -> [Int]? { QueryParameters(form: "partNumbers=\(text)")?.partNumbers }
        #expect(numbers("3,1,10000") == [3, 1, 10_000] && numbers("1%2C2") == [1, 2])
        let hundred = (1...100).map(String.init).joined(separator: ",")
        #expect(numbers(hundred)?.count == 100)
        for text in ["", "0", "10001", "1,1", "1,", "a", "01", "-1", "1-2", hundred + ",101"] {
            #expect(numbers(text) == nil, "\(text)")
        }
        #expect(QueryParameters(form: "key=a")?.partNumbers == nil)
    }

    @Test func `reads the parts of a completion, in any order`() throws {
        let asked = try CompanionCompletionRequest(
            parsing: Array(#"{"parts":[{"PartNumber":2,"ETag":"\"b\""},{"PartNumber":1,"ETag":"a"}]}"#.utf8))
        #expect(asked.parts == [.init(number: 1, entityTag: "a"), .init(number: 2, entityTag: "\"b\"")])
        #expect(try CompanionCompletionRequest(parsing: asked.encoded) == asked)
        for body in [
            "", "{}", #"{"parts":[]}"#, #"{"parts":[{"PartNumber":0,"ETag":"a"}]}"#, #"{"parts":[{"PartNumber":1}]}"#,
            #"{"parts":[{"PartNumber":1,"ETag":"a"},{"PartNumber":1,"ETag":"b"}]}"#,
            #"{"parts":[{"PartNumber":1,"ETag":""}]}"#, #"{"parts":[{"PartNumber":"1","ETag":"a"}]}"#,
        ] {
            #expect(throws: UploadRequestError.self) { try CompanionCompletionRequest(parsing: Array(body.utf8)) }
        }
    }
}
