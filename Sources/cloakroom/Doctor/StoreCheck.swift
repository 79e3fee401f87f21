import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells which store it is, and does with an object of the doctor's own what S3 would refuse.
@LoopActor
struct StoreCheck {
    private let dependencies: DoctorDependencies
    private let check = CheckName.store

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let deadline = dependencies.deadline
        _ = await BucketCheck.result { () throws(AWSError) in try await dependencies.s3.presence(deadline: deadline) }
        let store = dependencies.transport.last.flatMap { ObjectStore($0.fields) }
        func all(_ written: StoreObservations.Written?) -> [Finding] {
            StoreFindings(
                StoreObservations(store: store, written: written), expected: dependencies.settings.vending.store
            ).all
        }
        let key = "\(dependencies.settings.ownObjects.doctor)\(dependencies.name)-store"
        guard !dependencies.options.isReadOnly, let object = ObjectAddress(key: key) else {
            return all(nil) + [check.skipped("nothing may be written (--read-only)")]
        }
        if await dependencies.refusesDeletion(of: object) {
            return all(nil) + [check.skipped("the worker may not delete, so nothing was written that would stay")]
        }
        dependencies.willWrite(key, as: dependencies.s3)
        do throws(AWSError) {
            return all(try await written(object, key))
        } catch {
            return all(nil) + [
                check.error(
                    "the doctor's own object cannot be stored: \(error.words)",
                    why: "renewing takes the same permissions",
                    advice: "see the findings about touch")
            ]
        }
    }

    private static let bytes = Array("cloakroom doctor".utf8)

    private func written(_ object: ObjectAddress, _ key: String) async throws(AWSError) -> StoreObservations.Written {
        try await dependencies.s3.put(
            object, body: Self.bytes, contentType: "text/plain", deadline: dependencies.deadline)
        let owners = await BucketCheck.result { () throws(AWSError) -> Bool? in
            let bucket = try await dependencies.s3.owner(deadline: dependencies.deadline)
            return try await dependencies.s3.owner(ofKey: key, deadline: dependencies.deadline).map { $0 == bucket }
        }
        let digest = Data(SHA256.hash(Self.bytes)).base64EncodedString()
        return StoreObservations.Written(
            presignedCondition: Enforcement(
                try await upload(object, Self.bytes, checksum: nil, createsOnly: true), refusal: 412),
            condition: Enforcement(try await conditionalPut(object), refusal: 412),
            checksum: Enforcement(
                try await upload(object, Self.bytes.reversed(), checksum: digest, createsOnly: false), refusal: 400),
            unsignedCopy: try await unsignedCopy(object),
            ownersAgree: owners)
    }

    /// As a client uploads.
    ///
    /// - Returns: the status, or what went wrong, in words.
    private func upload(
        _ object: ObjectAddress, _ bytes: [UInt8], checksum: String?, createsOnly: Bool
    ) async throws(AWSError) -> Result<Int, NoResponseError> {
        let upload = try await dependencies.s3.presignUpload(
            object,
            terms: UploadTerms(
                contentType: "text/plain", byteCount: bytes.count, checksum: checksum, createsOnly: createsOnly,
                lifetime: .seconds(60)))
        let request = UpstreamRequest(method: "PUT", url: upload.url.reveal(), fields: upload.fields, body: bytes)
        do throws(TransportError) {
            return .success(
                try await dependencies.transport.send(request, timeout: dependencies.settings.aws.timeout).status)
        } catch {
            return .failure(NoResponseError(words: "\(error)"))
        }
    }

    /// A copy of the object onto itself, by fields that the client adds.
    private func unsignedCopy(_ object: ObjectAddress) async throws(AWSError) -> Enforcement {
        let upload = try await dependencies.s3.presignUpload(
            object, terms: UploadTerms(contentType: "text/plain", createsOnly: false, lifetime: .seconds(60)))
        var fields = upload.fields
        fields.add("x-amz-copy-source", "/\(dependencies.settings.bucket)/\(object.encodedKey)")
        fields.add("x-amz-metadata-directive", "REPLACE")
        let request = UpstreamRequest(method: "PUT", url: upload.url.reveal(), fields: fields, body: [])
        do throws(TransportError) {
            let response = try await dependencies.transport.send(request, timeout: dependencies.settings.aws.timeout)
            // One that stores the empty body has not copied.
            let hasCopied = String(decoding: response.body, as: UTF8.self).contains("CopyObjectResult")
            return hasCopied || response.status >= 300 ? Enforcement(status: response.status, refusal: 403) : .honoured
        } catch {
            return .unclear("\(error)")
        }
    }

    private func conditionalPut(_ object: ObjectAddress) async throws(AWSError) -> Result<Int, NoResponseError> {
        do throws(AWSError) {
            try await dependencies.s3.put(
                object, body: Self.bytes, contentType: "text/plain", condition: .ifNoneMatch,
                deadline: dependencies.deadline)
            return .success(200)
        } catch {
            return error.status > 0 ? .success(error.status) : .failure(NoResponseError(words: error.words))
        }
    }
}

private struct NoResponseError: Error { let words: String }

extension Enforcement {
    fileprivate init(_ answer: Result<Int, NoResponseError>, refusal: Int) {
        switch answer {
        case .success(let status): self.init(status: status, refusal: refusal)
        case .failure(let error): self = .unclear(error.words)
        }
    }
}
