@testable import CloakroomFastCGI

/// The gate in one piece and in two must agree, and end inside what it was given.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    // The first byte says where the second piece begins.
    guard let cut = bytes.first else { return 0 }
    let rest = Array(bytes.dropFirst())
    let whole = verdict(rest, cutAt: [])
    precondition(verdict(rest, cutAt: [min(Int(cut), rest.count)]) == whole)
    switch whole {
    case .complete(let end), .values(let end): precondition((8...rest.count).contains(end))
    case .incomplete, .tooLarge, .malformed: break
    }
    return 0
}

private func verdict(_ bytes: [UInt8], cutAt cuts: [Int]) -> Gate.Verdict {
    var gate = Gate(limits: .init(parameterBytes: 512, bodyBytes: 256))
    for end in cuts + [bytes.count] {
        let verdict = gate.walk(Array(bytes[..<end]).span)
        guard verdict == .incomplete else { return verdict }
    }
    return .incomplete
}
