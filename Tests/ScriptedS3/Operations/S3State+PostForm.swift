import CloakroomCrypto
import Foundation

/// PostObject: an upload by HTML form. Sources: see ``PostPolicy``.
extension S3State {
    mutating func postForm(_ request: S3Request, now: Double) throws(S3Error) -> S3Reply {
        guard let form = FormData(request), let file = form.file else {
            throw .invalidArgument(
                "POST requires exactly one file upload per request.", "file", "0")
        }
        let values = form.values
        let who = try signer(values, now: now)
        guard let template = values["key"], !template.isEmpty else {
            throw .invalidArgument("Bucket POST must contain a field named 'key'.", "key", "")
        }
        let policy = try PostPolicy(base64: values["policy"] ?? "")
        try policy.check(values, bucket: request.bucket, size: file.count, now: now)
        let key = template.replacing("${filename}", with: form.filename)
        try who.require("s3:PutObject", key)
        let inner = S3Request(
            method: "PUT", target: "/\(request.bucket)/\(PercentText.encoded(key, keepingSlashes: true))",
            fields: form.fields.filter { !["key", "policy"].contains($0.name) }, body: file)
        let call = Call(request: inner, key: key, who: who, now: now)
        try checkDigests(inner, file)
        try checkWriteConditions(inner, key, request.bucket)
        var version = try version(from: inner, call)
        version.bytes = file
        version.checksum = inner["x-amz-checksum-sha256"]
        var reply = written(&version, key, request.bucket)
        reply.add("Location", "http://scripted/\(request.bucket)/\(PercentText.encoded(key))")
        switch values["success_action_status"] {
        case "200": return reply
        case "201":
            let xml =
                "<PostResponse>" + XMLText.element("Location", "http://scripted/\(request.bucket)/\(key)")
                + XMLText.element("Bucket", request.bucket) + XMLText.element("Key", key)
                + XMLText.element("ETag", version.entityTag) + "</PostResponse>"
            return S3Reply(201, xml: xml, fields: reply.fields)
        default:
            reply.status = 204
            return reply
        }
    }

    private func signer(_ values: [String: String], now: Double) throws(S3Error) -> ScriptedIdentity {
        let credential = (values["x-amz-credential"] ?? "").split(separator: "/").map(String.init)
        guard values["x-amz-algorithm"] == SignatureCheck.algorithm, credential.count == 5,
            values["x-amz-date"].flatMap({ S3Timestamp(basic: $0) }) != nil, let policy = values["policy"],
            let signature = values["x-amz-signature"]
        else { throw .accessDenied }
        let check = SignatureCheck(identities: identities, now: now, keys: keys)
        let who = try check.identity(credential[0], token: values["x-amz-security-token"])
        let key = keys.key(who.secretAccessKey, day: credential[1], region: credential[2])
        guard credential[2] == options.region, credential[3] == "s3",
            key.authenticate(Array(policy.utf8)).hexadecimal == signature
        else {
            throw S3Error(
                403, "SignatureDoesNotMatch",
                "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
                details: [("AWSAccessKeyId", who.accessKeyID), ("StringToSign", policy)])
        }
        return who
    }
}
