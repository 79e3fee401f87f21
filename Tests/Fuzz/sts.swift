import CloakroomAWS
import CloakroomHTTP
import CloakroomWire

@testable import CloakroomServer

/// Parameters of STS' own wire, in a form and in the query: what is taken is as long as it says, and what is told of it is
/// XML that says the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    var form = Request(method: "POST", path: "/sts")
    form.fields = ["Content-Type": "application/x-www-form-urlencoded"]
    form.body = bytes
    check(form)
    var query = Request(method: "POST", path: "/sts")
    query.query = String(decoding: bytes, as: UTF8.self)
    check(query)
    checkText(String(decoding: bytes, as: UTF8.self))
    return 0
}

private func check(_ request: Request) {
    guard let asked = try? WebIdentityRequest(request) else { return }
    precondition(!asked.token.isEmpty)
    precondition(asked.sessionName.map { (2...64).contains($0.utf8.count) } ?? true)
    precondition(asked.lifetimeSeconds ?? 0 >= 0)
}

/// Every text of a message comes back as it was, but for what no document may have.
private func checkText(_ text: String) {
    let fault = RouteResponse.Fault(.invalidRequest, ErrorBody(error: text, code: .invalidRequest))
    let response = STSResponse.error(fault, Response(status: 400, fields: [:], body: []), id: nil)
    let limits = XMLReader.Limits(bytes: 1 << 24)
    // The worker says nothing with these two.
    guard !text.unicodeScalars.contains(where: { $0.value == 0xFFFE || $0.value == 0xFFFF }) else { return }
    guard let root = try? XMLReader.read(response.body, limits: limits) else { preconditionFailure("no XML") }
    let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 || [9, 10, 13].contains($0.value) }
    if isPlain { precondition(root["Error"]?.text(of: "Message") == text) }
}
