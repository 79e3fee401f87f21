@testable import CloakroomAWS
import CloakroomHTTP

/// What is read of a configuration is written and read again as the same rules.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let read = read(bytes) else { return 0 }
    for rule in read.rules {
        _ = (rule.id, rule.filter, rule.expiration, rule.noncurrentExpiration, rule.transitions, rule.unknown)
    }
    let document = read.document
    guard let again = Fuzzed.read(document) else { preconditionFailure("unreadable") }
    precondition(again.rules.count == read.rules.count && again.document == document)
    return 0
}

private func read(_ bytes: [UInt8]) -> LifecycleConfiguration? {
    try? LifecycleConfiguration(UpstreamResponse(status: 200, body: bytes))
}
