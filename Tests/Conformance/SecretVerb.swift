import Foundation
import CloakroomServer

/// Whether the settings would take this key for HS256.
let secret: Verb = { request in
    guard let key = Data(base64Encoded: try request.string("secret_b64")) else {
        throw RequestError(why: "secret_b64 is no base64")
    }
    return ["accept": .bool(KeyWeakness(of: Array(key)) == nil)]
}
