import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
import Foundation

/// Why S3 refuses a request.
struct S3Refusal: Error {
    let status: Int
    let code: String
    var message = "Refused"

    static let accessDenied = S3Refusal(status: 403, code: "AccessDenied", message: "Access Denied")
    static let preconditionFailed = S3Refusal(status: 412, code: "PreconditionFailed")
    static let noSuchUpload = S3Refusal(status: 404, code: "NoSuchUpload")
}

extension ServerState {
    mutating func s3Response(to call: ServerCall) -> HTTPResponse {
        do throws(S3Refusal) {
            guard call.operation != .unknown else { throw S3Refusal(status: 501, code: "NotImplemented") }
            try authorize(call)
            try checkSums(call)
            return try perform(call, key: call.key ?? "")
        } catch {
            return Self.s3Error(error.status, error.code, error.message, isHead: call.request.method == "HEAD")
        }
    }

    private mutating func perform(_ call: ServerCall, key: String) throws(S3Refusal) -> HTTPResponse {
        switch call.operation {
        case .putObject: return try put(call, key)
        case .getObject, .headObject: return try get(call, key)
        case .deleteObject:
            objects[key] = nil
            return HTTPResponse(status: 204)
        case .listObjects: return list(call)
        case .createMultipartUpload: return createUpload(call, key)
        case .uploadPart: return try putPart(call, key)
        case .listParts: return try listParts(call)
        case .completeMultipartUpload: return try completeUpload(call, key)
        case .abortMultipartUpload:
            guard uploads.removeValue(forKey: call.query["uploadId"] ?? "") != nil else { throw .noSuchUpload }
            return HTTPResponse(status: 204)
        case .vendCredentials, .signIn, .continueSession, .requestUpload, .beginAssetUpload, .requestAssetParts,
            .completeAssetUpload, .abortAssetUpload, .renewAssets, .releaseImages, .readAsset, .unknown:
            throw S3Refusal(status: 501, code: "NotImplemented")
        }
    }

    static func xml(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 200, fields: [("Content-Type", "application/xml")], body: Data(text.utf8))
    }

    /// - Parameter isHead: a response to HEAD has no document.
    static func s3Error(_ status: Int, _ code: String, _ message: String = "Refused", isHead: Bool) -> HTTPResponse {
        let document = "<Error><Code>\(code)</Code><Message>\(message)</Message></Error>"
        return HTTPResponse(
            status: status, fields: [("Content-Type", "application/xml")],
            body: isHead ? Data() : Data(document.utf8))
    }
}

// MARK: Rights

extension ServerState {
    /// How far a request's time may be off, in seconds, as AWS has it.
    private static let tolerance = 900.0

    private func authorize(_ call: ServerCall) throws(S3Refusal) {
        if let signature = call.query["X-Amz-Signature"], call.query["X-Amz-Credential"]?.hasPrefix("worker/") == true {
            return try check(grants[signature], call)
        }
        guard let id = call.accessKeyID else { throw .accessDenied }
        guard let issued = credentials[id] else { throw S3Refusal(status: 403, code: "InvalidAccessKeyId") }
        let token = call.fields["x-amz-security-token"] ?? call.query["X-Amz-Security-Token"]
        guard token == issued.sessionToken else { throw S3Refusal(status: 400, code: "InvalidToken") }
        guard hasSignature(call) else { throw S3Refusal(status: 403, code: "SignatureDoesNotMatch") }
        guard now < issued.expiration else { throw S3Refusal(status: 400, code: "ExpiredToken") }
        try checkTime(call)
        let isTheirs = Self.prefixes(of: issued.user).values.contains { (call.key ?? "").hasPrefix($0) }
        guard isTheirs, !issued.isReadOnly || call.operation.isRead else { throw .accessDenied }
    }

    private func hasSignature(_ call: ServerCall) -> Bool {
        let signature =
            call.query["X-Amz-Signature"]
            ?? call.fields["authorization"]?.firstMatch(of: /Signature=([0-9a-f]+)$/).map { String($0.1) }
        return signature?.utf8.count == 64
    }

    private func checkTime(_ call: ServerCall) throws(S3Refusal) {
        guard let signed = (call.fields["x-amz-date"] ?? call.query["X-Amz-Date"]).flatMap(Timestamp.init(basic:))
        else { throw .accessDenied }
        let age = now.timeIntervalSince(signed.date)
        if let lifetime = call.query["X-Amz-Expires"].flatMap(Double.init) {
            guard age >= -Self.tolerance, age < lifetime else { throw Self.expiredURL }
        } else if abs(age) > Self.tolerance {
            throw S3Refusal(status: 403, code: "RequestTimeTooSkewed")
        }
    }

    private static let expiredURL = S3Refusal(status: 403, code: "AccessDenied", message: "Request has expired")

    private func check(_ grant: Grant?, _ call: ServerCall) throws(S3Refusal) {
        guard let grant, call.request.method == "PUT", grant.key == call.key, grant.uploadID == call.query["uploadId"],
            grant.partNumber.map(String.init) == call.query["partNumber"],
            grant.fields.allSatisfy({ call.fields[$0.key] == $0.value }),
            grant.byteCount == nil || grant.byteCount == call.body.count
        else { throw S3Refusal(status: 403, code: "SignatureDoesNotMatch") }
        guard now < grant.expiration else { throw Self.expiredURL }
    }

    private func checkSums(_ call: ServerCall) throws(S3Refusal) {
        if let sum = call.fields["content-md5"], sum != Data(MD5.hash(call.body)).base64EncodedString() {
            throw S3Refusal(status: 400, code: "BadDigest")
        }
        if let sum = call.fields["x-amz-checksum-sha256"], sum != Data(SHA256.hash(call.body)).base64EncodedString() {
            throw S3Refusal(status: 400, code: "BadDigest")
        }
    }
}
