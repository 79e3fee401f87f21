import CloakroomWire
import Foundation

/// Whether a renewal's body would be taken for JSON at all.
let json: Verb = { request in
    guard let data = Data(base64Encoded: try request.string("data_b64")) else {
        throw RequestError(why: "data_b64 is no base64")
    }
    return ["accept": .bool((try? renewalJSON(parsing: Array(data))) != nil)]
}
