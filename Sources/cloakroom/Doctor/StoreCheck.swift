import AWS
import CloakroomCrypto
import HTTPValues
import Loop
import Service

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells which store it is, and does with an object of the doctor's own what S3 would refuse.
@LoopActor
struct StoreCheck {
    private let world: DoctorWorld
    private let check = CheckName.store

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        let deadline = world.deadline
        _ = await BucketCheck.result { () throws(Fault) in try await world.s3.presence(deadline: deadline) }
        let store = world.transport.last.flatMap { ObjectStore($0.fields) }
        func all(_ written: StoreAnswers.Written?) -> [Finding] {
            StoreFindings(StoreAnswers(store: store, written: written), expected: world.settings.vending.store).all
        }
        let key = "\(world.settings.ownObjects.doctor)\(world.name)-store"
        guard !world.options.isReadOnly, let object = ObjectAddress(key: key) else {
            return all(nil) + [check.skipped("nothing may be written (--read-only)")]
        }
        if await world.refusesDeletion(of: object) {
            return all(nil) + [check.skipped("the worker may not delete, so nothing was written that would stay")]
        }
        world.willWrite(key, as: world.s3)
        do throws(Fault) {
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

    private func written(_ object: ObjectAddress, _ key: String) async throws(Fault) -> StoreAnswers.Written {
        try await world.s3.put(object, body: Self.bytes, contentType: "text/plain", deadline: world.deadline)
        let owners = await BucketCheck.result { () throws(Fault) -> Bool? in
            let bucket = try await world.s3.owner(deadline: world.deadline)
            return try await world.s3.owner(ofKey: key, deadline: world.deadline).map { $0 == bucket }
        }
        let digest = Data(SHA256.hash(Self.bytes)).base64EncodedString()
        return StoreAnswers.Written(
            presignedCondition: Heed(
                try await upload(object, Self.bytes, checksum: nil, createsOnly: true), refusal: 412),
            condition: Heed(try await conditionalPut(object), refusal: 412),
            checksum: Heed(
                try await upload(object, Self.bytes.reversed(), checksum: digest, createsOnly: false), refusal: 400),
            ownersAgree: owners)
    }

    /// As a client uploads.
    ///
    /// - Returns: the status, or what went wrong, in words.
    private func upload(
        _ object: ObjectAddress, _ bytes: [UInt8], checksum: String?, createsOnly: Bool
    ) async throws(Fault) -> Result<Int, Unanswered> {
        let upload = try await world.s3.presignUpload(
            object,
            terms: UploadTerms(
                contentType: "text/plain", byteCount: bytes.count, checksum: checksum, createsOnly: createsOnly,
                lifetime: .seconds(60)))
        let request = UpstreamRequest(method: "PUT", url: upload.url.reveal(), fields: upload.fields, body: bytes)
        do throws(TransportError) {
            return .success(try await world.transport.send(request, timeout: world.settings.aws.timeout).status)
        } catch {
            return .failure(Unanswered(words: "\(error)"))
        }
    }

    private func conditionalPut(_ object: ObjectAddress) async throws(Fault) -> Result<Int, Unanswered> {
        do throws(Fault) {
            try await world.s3.put(
                object, body: Self.bytes, contentType: "text/plain", condition: .isNew, deadline: world.deadline)
            return .success(200)
        } catch {
            return error.status > 0 ? .success(error.status) : .failure(Unanswered(words: error.words))
        }
    }
}

private struct Unanswered: Error { let words: String }

extension Heed {
    fileprivate init(_ answer: Result<Int, Unanswered>, refusal: Int) {
        switch answer {
        case .success(let status): self.init(status: status, refusal: refusal)
        case .failure(let error): self = .unclear(error.words)
        }
    }
}
