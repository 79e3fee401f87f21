import Glibc
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomFastCGI

struct FieldTableTests {
    private func parsed(_ entries: [String], wanting names: [String] = [], body: [UInt8] = []) -> Request? {
        var environment = entries.map { strdup($0) } + [nil]
        defer { for entry in environment { free(entry) } }
        return environment.withUnsafeMutableBufferPointer {
            FieldTable(names).request(from: $0.baseAddress, body: body)
        }
    }

    private static let line = ["REQUEST_METHOD=GET", "REQUEST_URI=/a?b=c"]

    @Test func `takes the request line, the peer, the wanted fields, and no other`() throws {
        let entries =
            Self.line + [
                "REMOTE_ADDR=192.0.2.1", "REQUEST_ID=0123456789abcdef00000000deadbeef", "HTTP_AUTHORIZATION=Bearer t=t",
                "HTTP_X_CONVOS_AUTHTOKEN=x",
                "HTTP_TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                "CONTENT_TYPE=application/json", "CONTENT_LENGTH=", "HTTP_COOKIE=secret", "HTTP_AUTHORIZATION_2=no",
            ]
        let request = try #require(
            parsed(
                entries, wanting: ["Authorization", "X-Convos-AuthToken", "content-type", "Content-Length"],
                body: [1, 2]))
        #expect(request.method == "GET" && request.path == "/a" && request.query == "b=c")
        #expect(request.body == [1, 2] && request.peerAddress == "192.0.2.1")
        #expect(request.id == RequestID(0x0123_4567_89AB_CDEF) && request.id?.description == "0123456789abcdef")
        #expect(request.trace?.high == 0x4bf9_2f35_77b3_4da6 && request.trace?.isSampled == true)
        #expect(
            request.fields == [
                "Authorization": "Bearer t=t", "X-Convos-AuthToken": "x", "content-type": "application/json",
                "Content-Length": "",
            ])
    }

    @Test(arguments: [
        ("LOCAL_NETWORK=1", true), ("LOCAL_NETWORK=0", false), ("LOCAL_NETWORK=", false), ("LOCAL_NETWORK=11", false),
        ("HTTP_LOCAL_NETWORK=1", false),
    ])
    func `only nginx can say that the network is a local one`(entry: String, isLocal: Bool) throws {
        #expect(try #require(parsed(Self.line + [entry])).isFromLocalNetwork == isLocal)
    }

    @Test(arguments: ["", "0123456789abcde", "0123456789abcdeg", "0123456789ABCDEF", "\n123456789abcdef"])
    func `takes no request id that is not well formed`(text: String) throws {
        #expect(try #require(parsed(Self.line + ["REQUEST_ID=\(text)"])).id == nil)
    }

    @Test(arguments: [
        [], ["REQUEST_METHOD=GET"], ["REQUEST_URI=/"], ["REQUEST_METHOD=", "REQUEST_URI=/"],
        ["REQUEST_METHOD=GET", "REQUEST_URI="], ["REQUEST_METHODX=GET", "REQUEST_URI=/"], ["REQUEST_METHOD"],
    ])
    func `takes no request without a method and a target`(entries: [String]) {
        #expect(parsed(entries) == nil)
    }

    @Test(arguments: [
        ("/a", "/a", ""), ("/a?b", "/a", "b"), ("/a?", "/a", ""), ("?b?c=d", "", "b?c=d"), ("?", "", ""),
    ])
    func `cuts the target at its first question mark`(target: String, path: String, query: String) throws {
        let request = try #require(parsed(["REQUEST_METHOD=GET", "REQUEST_URI=/x?y", "REQUEST_URI=\(target)"]))
        #expect(request.path == path && request.query == query)
        #expect(Request(method: "GET", target: target).path == path)
        #expect(Request(method: "GET", target: target).query == query)
    }

    @Test func `takes no environment for no request`() {
        #expect(FieldTable([]).request(from: nil, body: []) == nil)
    }

    @Test func `repairs what is not UTF-8`() {
        let target: [CChar] = Array("REQUEST_URI=/".utf8CString.dropLast()) + [-1, -2, 0]
        var method = Array("REQUEST_METHOD=GET".utf8CString)
        var line = target
        let path = method.withUnsafeMutableBufferPointer { method in
            line.withUnsafeMutableBufferPointer { line in
                var environment = [method.baseAddress, line.baseAddress, nil]
                return environment.withUnsafeMutableBufferPointer {
                    FieldTable([]).request(from: $0.baseAddress, body: [])?.path
                }
            }
        }
        #expect(path == "/\u{FFFD}\u{FFFD}")
    }
}
