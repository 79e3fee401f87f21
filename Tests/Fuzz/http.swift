@testable import CloakroomConnections
import CloakroomHTTP

/// A response of HTTP/1.1 in one piece and in two must be read as the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    // The first byte says where the second piece begins.
    guard let cut = bytes.first else { return 0 }
    let rest = Array(bytes.dropFirst())
    let end = min(Int(cut), rest.count)
    precondition(outcome([rest[..<end], rest[end...]]) == outcome([rest[...]]))
    return 0
}

/// - Returns: the status, or why there is none.
private func outcome(_ pieces: [ArraySlice<UInt8>]) -> Result<Int, ExchangeError> {
    let reader = PlainHTTPResponseReader()
    reader.reset()
    for piece in pieces where !piece.isEmpty {
        let progress = reader.read(piece.span)
        guard progress == .incomplete else { return outcome(progress) }
    }
    return outcome(reader.end())
}

private func outcome(_ progress: ResponseProgress) -> Result<Int, ExchangeError> {
    switch progress {
    case .complete(let response, _):
        precondition((200...999).contains(response.status))
        return .success(response.status)
    case .failed(let error): return .failure(error)
    case .incomplete: preconditionFailure("an end that is none")
    }
}
