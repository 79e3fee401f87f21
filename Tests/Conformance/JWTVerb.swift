import Foundation
import JOSE
import StrictJSON

/// Whether a token holds against a key set.
let jwt: Verb = { request in
    let outcome = verified(
        try request.string("jws"), with: try keySet(request), allowed: try algorithms(request),
        checksTimes: try request.bool("time_checks"))
    switch outcome {
    case .success(let payload):
        return ["valid": .bool(true), "payload_b64": .string(Data(payload).base64EncodedString())]
    case .failure(let reason):
        if reason == .algorithmRefused, let name = unsupportedAlgorithm(request) {
            throw Unsupported(why: "no \(name) yet")
        }
        return ["valid": .bool(false), "reason": .string(reason.rawValue)]
    }
}

private func verified(
    _ token: String, with keys: JSONWebKeySet, allowed: Set<SignatureAlgorithm>, checksTimes: Bool
) -> Result<[UInt8], TokenError> {
    Result { () throws(TokenError) in
        let jws = try JWS(compact: Array(token.utf8))
        try keys.verify(jws, allowed: allowed)
        if checksTimes { _ = try Claims(jws.payload).checkTimes(now: Date(), leeway: .seconds(30)) }
        return jws.payload
    }
}

private func names(_ request: Fields) -> [String] {
    guard case .array(let names)? = request.values["algs"] else { return [] }
    return names.compactMap { if case .string(let name) = $0 { name } else { nil } }
}

private func algorithms(_ request: Fields) throws -> Set<SignatureAlgorithm> {
    guard case .array? = request.values["algs"] else { throw Unreadable(why: "algs is no array") }
    return Set(names(request).compactMap(SignatureAlgorithm.init))
}

/// The token's algorithm, if the request allows it and we lack it.
private func unsupportedAlgorithm(_ request: Fields) -> String? {
    guard let text = try? request.string("jws"), let jws = try? JWS(compact: Array(text.utf8)) else { return nil }
    let isLacking = SignatureAlgorithm(rawValue: jws.algorithm) == nil && jws.algorithm != "none"
    return isLacking && names(request).contains(jws.algorithm) ? jws.algorithm : nil
}

private func keySet(_ request: Fields) throws -> JSONWebKeySet {
    guard let jwks = request.values["jwks"], let data = try? JSONEncoder().encode(jwks),
        let keys = (try? JSON(parsing: Array(data))).flatMap(JSONWebKeySet.init)
    else { throw Unreadable(why: "jwks is no key set") }
    return keys
}
