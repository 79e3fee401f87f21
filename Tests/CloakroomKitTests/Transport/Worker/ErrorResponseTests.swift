import CloakroomWire
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ErrorResponseTests {
    private func error(_ status: Int, _ body: String, _ fields: [(name: String, value: String)] = []) -> CloakroomError
    {
        CloakroomError(HTTPResponse(status: status, fields: fields, body: Data(body.utf8)), now: Date())
    }

    @Test(arguments: ErrorCode.allCases)
    func `every code of the worker arrives as itself`(code: ErrorCode) {
        let body = String(decoding: ErrorBody(error: "Why", code: code).encoded, as: UTF8.self)
        #expect(
            error(418, body)
                == CloakroomError(
                    CloakroomError.Code(rawValue: code.rawValue), "Why", status: 418, serverCode: code.rawValue))
    }

    @Test func `a code that is not known yet is kept`() {
        #expect(
            error(409, #"{"error":"Full moon","code":"full_moon","more":[1]}"#)
                == CloakroomError(.unknown, "Full moon", status: 409, serverCode: "full_moon"))
        // The kit's own codes are not the worker's to use.
        #expect(error(409, #"{"error":"x","code":"no_such_object"}"#).code == .unknown)
    }

    @Test(arguments: [
        (400, CloakroomError.Code.invalidRequest), (401, .unauthorized), (403, .forbidden), (404, .notFound),
        (405, .methodNotAllowed), (413, .bodyTooLarge), (415, .contentTypeNotAllowed), (429, .tooManyRequests),
        (500, .internalError), (502, .unavailable), (503, .unavailable), (504, .unavailable), (409, .unknown),
    ])
    func `a backend without codes is judged by its status`(status: Int, code: CloakroomError.Code) {
        #expect(
            error(status, #"{"error":"Device is disabled"}"#)
                == CloakroomError(code, "Device is disabled", status: status))
    }

    @Test(arguments: [
        (302, CloakroomError.Code.invalidResponse), (400, .invalidResponse), (401, .unauthorized),
        (403, .invalidResponse),
        (404, .invalidResponse), (429, .tooManyRequests), (500, .unavailable), (502, .unavailable), (503, .unavailable),
    ])
    func `a page of a proxy says little`(status: Int, code: CloakroomError.Code) {
        for page in ["<html>Please log in, user Bob</html>", "", "{}", #"{"error":{"message":"no"}}"#, "\u{0}"] {
            #expect(
                error(status, page)
                    == CloakroomError(code, "The response has status \(status) and no reason", status: status))
        }
    }

    @Test func `a proxy that asks for a password, or shows a page, refuses no token`() {
        #expect(error(401, "", [("WWW-Authenticate", "Basic realm=x")]).code == .invalidResponse)
        #expect(error(401, "<html>", [("Content-Type", "text/html; charset=utf-8")]).code == .invalidResponse)
        #expect(error(401, "{}", [("WWW-Authenticate", "Bearer error=x")]).code == .unauthorized)
    }

    @Test(arguments: [
        ("X-Request-Id", "3f9a", "3f9a"), ("x-amz-request-id", "4442587FB7D0A2F9", "4442587FB7D0A2F9"),
        ("X-Request-Id", "a\tb", nil), ("X-Request-Id", String(repeating: "a", count: 129), nil),
        ("X-Other", "3f9a", nil),
    ])
    func `the operator's name of the request is kept`(name: String, value: String, id: String?) {
        #expect(error(500, "", [(name, value)]).requestID == id)
    }

    @Test func `a sentence is one line of bounded length`() {
        let message = error(400, #"{"error":"a\nb\#(String(repeating: "c", count: 500))"}"#).message
        #expect(message == "a b" + String(repeating: "c", count: 197))
    }
}
