import CloakroomCrypto
import CloakroomSignatures
import Foundation
import CloakroomJOSE
import CloakroomJSON

/// Whether a signature, in the form JOSE gives it, holds for a message. A key that is refused verifies nothing.
let sig: Verb = { request in
    let name = try request.string("alg")
    guard let algorithm = SignatureAlgorithm(rawValue: name) else {
        throw UnsupportedError(why: "no algorithm \(name)")
    }
    let message = try bytes("msg_hex", of: request)
    let signature = try bytes("sig_hex", of: request)
    switch try key(request) {
    case .success(let key):
        return ["valid": .bool(key.verifies(signature, of: message, algorithm: algorithm))]
    case .failure(let refusal): return ["valid": .bool(false), "reason": .string(refusal.why)]
    }
}

/// A key we do not take.
private struct Refusal: Error {
    let why: String
}

private func key(_ request: Fields) throws -> Result<VerificationKey, Refusal> {
    if let jwk = request.values["jwk"], case .object = jwk {
        guard let json = try? JSON(parsing: Array(JSONEncoder().encode(jwk))) else {
            throw RequestError(why: "jwk is no JSON that we read")
        }
        return Result { () throws(JSONWebKeyError) in try VerificationKey(jwk: json, origin: .own) }
            .mapError { Refusal(why: $0.description) }
    }
    guard let pem = try request.optionalString("spki_pem") else {
        throw RequestError(why: "neither jwk nor spki_pem is there")
    }
    return Result { () throws(KeyError) in try VerificationKey(pem: Array(pem.utf8)) }
        .mapError { Refusal(why: $0.description) }
}

private func bytes(_ name: String, of request: Fields) throws -> [UInt8] {
    let digits = try request.string(name).compactMap(\.hexDigitValue)
    guard digits.count % 2 == 0, try digits.count == request.string(name).utf8.count else {
        throw RequestError(why: "\(name) is no hexadecimal")
    }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}
