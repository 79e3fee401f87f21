import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signs a request that is given field by field, in the header or in the query.
let sigv4: Verb = { request in
    guard let body = Data(base64Encoded: try request.optionalString("body_b64") ?? "") else {
        throw RequestError(why: "body_b64 is no base64")
    }
    let time = try timestamp(request)
    let rules = SigV4.Rules(
        normalizesPath: try request.bool("normalize", default: true),
        encodesPathAgain: try request.bool("double_encode", default: true),
        sendsPayloadHash: try request.bool("sign_body"),
        leavesSessionTokenUnsigned: try request.bool("omit_session_token"))
    let target = Request(method: "", target: try request.string("target"))
    var message = SigV4.Message(
        method: try request.string("method"), path: target.path, query: target.query,
        fields: try headerFields(request), payloadHash: SHA256.hash(body).hexadecimal)
    let credentials = try credentials(request)
    let key = SigningKey(
        secretAccessKey: credentials.secretAccessKey, day: time.day, region: try request.string("region"),
        service: try request.string("service"))
    let signer = SigV4(rules: rules)
    let signature: SigV4.Signature
    switch try request.optionalString("mode") ?? "header" {
    case "header": signature = signer.sign(&message, with: credentials, key: key, at: time)
    case "query":
        let seconds = try request.integer("expires", default: 3600)
        signature = signer.presign(&message, for: seconds, with: credentials, key: key, at: time)
    default: throw UnsupportedError(why: "mode is neither header nor query")
    }
    return [
        "signature": .string(signature.text),
        "canonical_request": .string(String(decoding: signature.canonicalRequest, as: UTF8.self)),
        "string_to_sign": .string(String(decoding: signature.stringToSign, as: UTF8.self)),
    ]
}

func credentials(_ request: Fields) throws -> Credentials {
    Credentials(
        accessKeyID: try request.string("access_key"), secretAccessKey: Secret(try request.string("secret_key")),
        sessionToken: try request.optionalString("session_token").map { Secret($0) })
}

/// `20150830T123600Z`, `2015-08-30T12:36:00Z` or seconds since 1970.
func timestamp(_ request: Fields) throws -> Timestamp {
    if case .integer(let seconds) = request.values["timestamp"] { return Timestamp(secondsSince1970: seconds) }
    let text = try request.string("timestamp")
    guard let time = Timestamp(basic: text) ?? Timestamp(iso8601: text) else {
        throw RequestError(why: "timestamp is neither basic nor extended ISO 8601 in UTC")
    }
    return time
}

private func headerFields(_ request: Fields) throws -> HeaderFields {
    guard case .array(let pairs) = request.values["headers"] else { throw RequestError(why: "headers is no array") }
    var fields: HeaderFields = [:]
    for pair in pairs {
        guard case .array(let parts) = pair, parts.count == 2, case .string(let name) = parts[0],
            case .string(let value) = parts[1]
        else { throw RequestError(why: "a header is no pair of strings") }
        fields.add(name, value)
    }
    return fields
}
