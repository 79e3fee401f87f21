@testable import CloakroomJSON

/// What is read must be written and read again as the same; JSON5 only must not fall over.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    _ = try? JSON(parsingJSON5: bytes)
    guard let json = try? JSON(parsing: bytes) else { return 0 }
    guard let again = try? JSON(parsing: Array(json.text.utf8)) else { preconditionFailure("unreadable") }
    precondition(again == json)
    return 0
}
