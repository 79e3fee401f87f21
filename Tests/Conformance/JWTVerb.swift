import Foundation
import CloakroomJOSE
import CloakroomJSON

/// Whether a token holds against a key set.
let jwt: Verb = { request in
    guard let keys = try keySet(request) else {
        return ["valid": .bool(false), "reason": .string("key_set_refused")]
    }
    let outcome = verified(
        try request.string("jws"), with: keys, allowed: try algorithms(request),
        checksTimes: try request.bool("time_checks"))
    switch outcome {
    case .success(let payload):
        return ["valid": .bool(true), "payload_b64": .string(Data(payload).base64EncodedString())]
    case .failure(let reason):
        if reason == .algorithmRefused, let name = try unsupportedAlgorithm(request) {
            throw UnsupportedError(why: "no algorithm \(name)")
        }
        return ["valid": .bool(false), "reason": .string(reason.rawValue)]
    }
}

private func verified(
    _ token: String, with keys: KeySet, allowed: Set<SignatureAlgorithm>, checksTimes: Bool
) -> Result<[UInt8], TokenError> {
    Result { () throws(TokenError) in
        let jws = try JWS(compact: Array(token.utf8))
        try keys.verify(jws, allowed: allowed)
        if checksTimes { _ = try Claims(jws.payload).checkTimes(now: Date(), leeway: .seconds(30)) }
        return jws.payload
    }
}

private func names(_ request: Fields) throws -> [String] {
    guard case .array(let names)? = request.values["algs"] else { throw RequestError(why: "algs is no array") }
    return names.compactMap { if case .string(let name) = $0 { name } else { nil } }
}

/// What the request allows of what we have.
private func algorithms(_ request: Fields) throws -> Set<SignatureAlgorithm> {
    Set(try names(request).compactMap(SignatureAlgorithm.init))
}

/// The token's algorithm, if the request allows it and we lack it; `none` we refuse, whoever allows it.
private func unsupportedAlgorithm(_ request: Fields) throws -> String? {
    guard let jws = try? JWS(compact: Array(request.string("jws").utf8)) else { return nil }
    let isLacking = SignatureAlgorithm(rawValue: jws.algorithm) == nil && jws.algorithm.lowercased() != "none"
    return try isLacking && names(request).contains(jws.algorithm) ? jws.algorithm : nil
}

private func keySet(_ request: Fields) throws -> KeySet? {
    guard let jwks = request.values["jwks"], let json = try? JSON(parsing: Array(JSONEncoder().encode(jwks))) else {
        throw RequestError(why: "jwks is no JSON that we read")
    }
    return KeySet(jwks: json, origin: .own)
}
