@testable import CloakroomOperations
@testable import CloakroomServer
@testable import CloakroomJSON

/// No template that is taken gives a user what lies in the folder of another.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let json = try? JSON(parsing: bytes) else { return 0 }
    _ = try? IAMPolicy(json)
    guard let policy = try? PolicyTemplate(bucket: "b", partition: "aws").policy(from: json),
        let user = UserID("u_1")
    else { return 0 }
    precondition(policy.text(for: user).utf8.count <= SessionPolicy.maximumLength)
    guard let text = try? JSON(parsing: Array(policy.text(for: user).utf8)), let read = try? IAMPolicy(text) else {
        preconditionFailure("unreadable")
    }
    for action in ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"] {
        for key in ["photos/u_2/a", "photos/u_10/a", "u_2", "photos/"] {
            let request = IAMRequest(action, "arn:aws:s3:::b/\(key)")
            precondition(read.decision(on: request) != .allowed)
        }
    }
    return 0
}
