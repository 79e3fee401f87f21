@testable import CloakroomAWS

/// Nothing that is read may be more than it was given.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let root = try? XMLReader.read(bytes) else { return 0 }
    precondition(size(of: root) <= count)
    return 0
}

private func size(of element: XMLElement) -> Int {
    element.children.reduce(element.name.utf8.count + element.text.utf8.count) { $0 + size(of: $1) }
}
