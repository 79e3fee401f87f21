import CloakroomJSON
import CloakroomWire
import Foundation

/// The wire as the worker has it: routes, error codes, members of queries, and each body in as many forms as it has.
///
/// deploy/checks/wire holds deploy/openapi.yaml against it.
let wire: Verb = { _ in
    [
        "routes": .array(
            Route.allCases.map { route in
                .object([
                    "path": .string(route.rawValue),
                    "methods": .array((route.methods + (route.answersHead ? ["HEAD"] : [])).map { .string($0) }),
                ])
            }),
        "errors": .array(
            ErrorCode.allCases.map { .object(["code": .string($0.rawValue), "status": .integer($0.status)]) }),
        "codes": .object([
            "CompletionReason": names(UploadIncompleteReason.self), "RenewResult.error": names(RenewalErrorCode.self),
            "ReleaseResult.error": names(ReleaseErrorCode.self), "Purpose": names(UploadPurpose.self),
        ]),
        "query": .object([
            "containerCredentials": .array(
                CredentialRequest(scope: "read", lifetimeSeconds: 900).query.map { .string($0.name) }),
            "presignPut": names(PutUploadParameter.self),
            "uploadParts": .array([.string("numbers")]),
            "companionParams": texts("filename", "type", "metadata"), "companionParts": texts("key"),
            "companionAbort": texts("key"), "companionPartUrl": texts("key"), "companionComplete": texts("key"),
            "companionPartUrls": texts("key", "partNumbers"),
            "companionCredentials": .array(
                CredentialRequest(scope: "read", lifetimeSeconds: 900).query.map { .string($0.name) }),
        ]),
        "bodies": .object(try bodies.mapValues { .array(try $0.map { try json($0) }) }),
    ]
}

private func texts(_ words: String...) -> JSONValue { .array(words.map { .string($0) }) }

private func names<Names: RawRepresentable & CaseIterable>(_: Names.Type) -> JSONValue where Names.RawValue == String {
    .array(Names.allCases.map { .string($0.rawValue) })
}

private func json(_ bytes: [UInt8]) throws -> JSONValue { try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) }

private let end = Date(timeIntervalSince1970: 1_800_000_000)
private let url = "https://photos.example/assets/0a.bin"
private let key = "assets/0a.bin"
private let digest = "ae448ac86c4e8e4dec645729708ef41873ae79c6dff84eff73360989487f08e5"
private let renewals = [
    RenewResult(key: key, renewedUntil: end), RenewResult(key: key, renewedUntil: nil),
    RenewResult(key: key, failure: .notFound),
]
private let releases = [
    ReleaseResult(key: key, bytesGoneBy: end), ReleaseResult(key: key, bytesGoneBy: nil),
    ReleaseResult(key: key, failure: .forbidden),
]

/// By the names of the document's schemas. Every member is in one of the forms; a member that all of them have is required.
private let bodies: [String: [[UInt8]]] = [
    "Error": forms(
        ErrorBody(error: "Part 2 has not been uploaded", code: .uploadIncomplete, reason: "part_missing"),
        ErrorBody(error: "No such route", code: .notFound), companionError),
    "CredentialRequest": forms(CredentialRequest(scope: "read", lifetimeSeconds: 900), CredentialRequest()),
    "Credentials": forms(
        STSTokenBody(
            credentials: .init(accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: end),
            region: "eu-central-1", bucket: "photos", userId: "u_1", prefixes: ["photos": "photos/u_1/"]),
        STSTokenBody(
            credentials: .init(accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: end),
            region: "eu-central-1", bucket: "photos", userId: "u_1", prefixes: ["photos": "photos/u_1/"],
            shared: [.init(prefix: "photos/u_2/a/", owner: "u_2", until: end)])),
    "ContainerCredentials": forms(
        ContainerCredentialsBody(accessKeyID: "ASIA", secretAccessKey: "s", token: "t", expiration: end)),
    "SessionRequest": [
        SessionRequest(identityToken: "t", nonce: "n", deviceId: "d").encoded, SessionRequest().encoded,
    ],
    "Session": forms(SessionBody(token: "t", expiresAt: end, userId: "u_1")),
    "AppleNotification": forms(AppleNotificationRequest(payload: "p")),
    "PutUpload": forms(
        UploadBody(
            objectKey: key, uploadUrl: url, assetUrl: url, expiresAt: end, headers: ["content-type": "image/jpeg"],
            releaseToken: "r"),
        UploadBody(objectKey: key, uploadUrl: url, assetUrl: url, expiresAt: end, headers: [:])),
    "PostUploadRequest": forms(
        PostUploadRequest(contentType: "image/jpeg", maximumBytes: 7, sha256: digest, purpose: .chat),
        PostUploadRequest(contentType: "image/jpeg", maximumBytes: nil, sha256: nil)),
    "PostUpload": forms(
        PostUploadBody(
            objectKey: key, uploadUrl: url, fields: ["key": key], assetUrl: url, maximumBytes: 7, expiresAt: end,
            releaseToken: "r"),
        PostUploadBody(
            objectKey: key, uploadUrl: url, fields: [:], assetUrl: url, maximumBytes: 7, expiresAt: end)),
    "MultipartUploadRequest": forms(
        MultipartUploadRequest(contentType: "image/jpeg", contentLength: 7, sha256: digest, purpose: .chat),
        MultipartUploadRequest(contentType: "image/jpeg", contentLength: 7, sha256: nil)),
    "MultipartUpload": forms(
        MultipartUploadBody(
            uploadId: "i", objectKey: key, assetUrl: url, partBytes: 8_388_608, partCount: 1, expiresAt: end,
            releaseToken: "r"),
        MultipartUploadBody(
            uploadId: "i", objectKey: key, assetUrl: url, partBytes: 8_388_608, partCount: 1, expiresAt: end)),
    "Parts": forms(
        MultipartPartsBody(
            parts: [.init(partNumber: 1, uploadUrl: url, contentLength: 7)], partBytes: 8_388_608, partCount: 1,
            expiresAt: end)),
    "CompletionRequest": forms(CompletionRequest(etags: ["e"]), CompletionRequest(etags: nil)),
    "Uploaded": forms(UploadedBody(objectKey: key, assetUrl: url), UploadedBody(objectKey: key, assetUrl: nil)),
    "RenewBatchRequest": forms(RenewBatchRequest(assetKeys: [key])),
    "RenewOneRequest": forms(RenewOneRequest(assetKey: key)),
    "RenewResult": renewals.map(\.encoded),
    "RenewBatch": forms(RenewBatchBody(results: renewals)),
    "ReleaseBatchRequest": forms(ReleaseBatchRequest(images: [ReleaseItem(key: key, releaseToken: "r")])),
    "ReleaseResult": releases.map(\.encoded),
    "ReleaseBatch": forms(ReleaseBatchBody(results: releases)),
    "CompanionForm": forms(CompanionFormBody(url: url, fields: ["key": key], expires: 900)),
    "CompanionUploadRequest": forms(
        CompanionUploadRequest(filename: "a.jpg", type: "image/jpeg", metadata: ["name": "a.jpg"]),
        CompanionUploadRequest(filename: nil, type: "image/jpeg")),
    "CompanionUpload": forms(CompanionUploadBody(key: key, uploadId: "i", bucket: "photos")),
    "CompanionParts": forms(CompanionPartsBody(parts: [.init(number: 1, entityTag: "e", byteCount: 7)])),
    "CompanionPartUrl": forms(CompanionPartURLBody(url: url, expires: 900)),
    "CompanionPartUrls": forms(CompanionPartURLsBody(urls: [1: url])),
    "CompanionCompletionRequest": forms(CompanionCompletionRequest(parts: [.init(number: 1, entityTag: "e")])),
    "CompanionCompletion": forms(CompanionCompletionBody(location: url, key: key, bucket: "photos")),
    "CompanionCredentials": forms(
        CompanionCredentialsBody(
            STSTokenBody(
                credentials: .init(accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: end),
                region: "eu-central-1", bucket: "photos"))),
]

private let companionError: ErrorBody = {
    var body = ErrorBody(error: "No such upload", code: .uploadNotFound)
    body.message = body.error
    return body
}()

private func forms(_ bodies: any WireEncodable...) -> [[UInt8]] { bodies.map { $0.encoded } }
