import CloakroomAWS

/// The form of an AssumeRole.
let assume: Verb = { request in
    let role = AssumeRole(
        roleARN: try request.string("role_arn"), sessionName: try request.string("session_name"),
        duration: .seconds(try request.integer("duration", default: 3600)),
        policy: try request.optionalString("policy").map { AssumeRole.Policy($0) })
    return ["body": .string(String(decoding: role.form(for: role.duration), as: UTF8.self))]
}
