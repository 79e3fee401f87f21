import CloakroomAWS
import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Uploads by the wire of Uppy's server, Companion. Names are ours, and Uppy says no lengths: what is uploaded is held to
/// ``UploadRules`` by the form, or when it is complete.
@LoopActor
final class CompanionUploads {
    /// What came of completing one.
    enum Outcome: Equatable {
        case completed(CompanionCompletionBody)
        /// Not yet; the sentence says why.
        case incomplete(UploadCompletionRefusal)
        /// It is more than the user may store now.
        case notAdmitted
        case gone
    }

    private let s3: S3Client
    private let bucket: String
    private let seal: TicketSeal
    private let names: AssetNames
    private let rules: UploadRules
    private let urlLifetime: Duration
    private let idLifetime: Duration
    private let requestDeadline: Duration
    private let now: @Sendable () -> Date

    /// - Precondition: the settings have a key.
    init(
        s3: S3Client, bucket: String, settings: Settings.Uploads, names: AssetNames, rules: UploadRules,
        requestDeadline: Duration, now: @escaping @Sendable () -> Date
    ) {
        self.s3 = s3
        self.bucket = bucket
        self.names = names
        self.rules = rules
        self.requestDeadline = requestDeadline
        self.now = now
        seal = TicketSeal(keys: settings.idKeys)
        urlLifetime = settings.lifetime
        idLifetime = settings.multipartLifetime
    }

    private var deadline: ContinuousClock.Instant { .now + requestDeadline }

    /// Where lengths are required, as many bytes as the form counts for.
    private var maximumFormBytes: Int { rules.requiresContentLength ? rules.assumedBytes : rules.maximumBytesAtOnce }

    /// - Returns: with the object's key, and when the form ends.
    func form(
        _ upload: CompanionParameters
    ) async throws(AWSError) -> (body: CompanionFormBody, objectKey: String, expiration: Date) {
        let asset = try names.next()
        var fields = upload.metadata
        // The response then has a body, which Uppy looks for.
        fields.add("success_action_status", "201")
        let terms = PostTerms(
            contentType: upload.contentType, byteCounts: 1...maximumFormBytes, lifetime: urlLifetime,
            otherFields: fields)
        let presigned = try await s3.presignPost(key: asset.key, terms: terms)
        let body = CompanionFormBody(
            url: presigned.url,
            fields: Dictionary(
                presigned.fields.map { ($0.name, $0.value.reveal()) }, uniquingKeysWith: { first, _ in first }),
            expires: seconds(until: presigned.expiration))
        return (body, asset.key, presigned.expiration)
    }

    func begin(_ upload: CompanionParameters, for user: UserID) async throws(AWSError) -> CompanionUploadBody {
        let asset = try names.next()
        let uploadID = try await s3.createMultipartUpload(
            asset.object, contentType: upload.contentType, fields: upload.metadata, deadline: deadline)
        let end = now().timeIntervalSince1970.rounded(.down) + Double(idLifetime.components.seconds)
        let ticket = CompanionTicket(
            objectKey: asset.key, uploadID: uploadID, expiration: Date(timeIntervalSince1970: end))
        return CompanionUploadBody(key: asset.key, uploadId: seal.id(ticket, of: user), bucket: bucket)
    }

    /// - Parameter key: as Uppy repeats it with each request.
    /// - Returns: `nil` for an id that is not this user's, or of another key; no request is sent.
    func ticket(_ id: String, key: String?, of user: UserID) -> CompanionTicket? {
        guard let ticket = seal.companionTicket(id, of: user, at: now()), key == ticket.objectKey else { return nil }
        return ticket
    }

    /// Of the parts of what may be uploaded at most, each but the last of 5 MiB at least; 10,000 are S3's limit (Amazon S3 User Guide,
    /// "Multipart upload limits").
    var maximumPartNumber: Int { min(10_000, (rules.maximumBytes - 1) / (5 << 20) + 1) }

    /// - Returns: by number, and when they all end.
    func urls(
        _ numbers: [Int], of ticket: CompanionTicket
    ) async throws(AWSError) -> (urls: [Int: String], expires: Int, expiration: Date) {
        let asset = try names.named(ticket.objectKey)
        let (urls, expiration) = try await s3.presignParts(
            asset.object, uploadID: ticket.uploadID, numbers: numbers, lifetime: urlLifetime)
        let byNumber = Dictionary(uniqueKeysWithValues: zip(numbers, urls.map { $0.reveal() }))
        return (byNumber, seconds(until: expiration), expiration)
    }

    /// - Returns: `nil` when the upload is complete or was given up.
    func parts(of ticket: CompanionTicket) async throws(AWSError) -> CompanionPartsBody? {
        guard let stored = try await stored(ticket, deadline) else { return nil }
        return CompanionPartsBody(
            parts: stored.map { .init(number: $0.number, entityTag: $0.entityTag, byteCount: $0.byteCount) })
    }

    /// Completes it of the parts that are named, once S3 has all of them and they are not too many bytes.
    ///
    /// A client that repeats the request, because the response was lost, is told that it is complete.
    ///
    /// - Parameters:
    ///   - admit: told how many bytes it is more than were counted when it began.
    ///   - giveBack: called where this request surely made no object of what was admitted. Not where that is unknown, as
    ///     after a time-out: a repeat finds the object and counts nothing.
    func complete(
        _ ticket: CompanionTicket, _ named: [CompanionCompletionRequest.Part],
        admit: @LoopActor (Int) async -> Bool, giveBack: @LoopActor () -> Void
    ) async throws(AWSError) -> Outcome {
        let asset = try names.named(ticket.objectKey)
        // One for all that is requested of S3: nginx waits little longer than one.
        let deadline = deadline
        guard let stored = try await stored(ticket, deadline) else {
            return try await completedBefore(asset, named, deadline)
        }
        let parts: [UploadedPart]
        let count: Int
        do throws(UploadCompletionRefusal) {
            parts = try Self.matching(named, stored)
            count = parts.reduce(0) { $0 + $1.byteCount }
            guard count <= rules.maximumBytes else {
                throw UploadCompletionRefusal.tooLarge(count, maximum: rules.maximumBytes)
            }
        } catch {
            return .incomplete(error)
        }
        if count > rules.assumedBytes, await !admit(count - rules.assumedBytes) { return .notAdmitted }
        var counts = AttemptCounts()
        let completion: MultipartCompletion
        do throws(AWSError) {
            // As in `MultipartUploads`: it may take S3 minutes.
            completion = try await s3.completeMultipartUpload(
                asset.object, uploadID: ticket.uploadID, parts: parts, timeout: requestDeadline, deadline: deadline,
                counts: &counts)
        } catch {
            if !counts.mayHaveActed(before: error) { giveBack() }
            throw error
        }
        switch completion {
        case .completed: return .completed(body(asset))
        case .objectExists, .noSuchUpload:
            // Its parts were there a moment ago: another request made the object, and has counted it, or gave it up; or this
            // one did, by an attempt without a response.
            let mayBeOurs = counts.mayHaveActed(before: nil)
            if !mayBeOurs { giveBack() }
            let outcome = try await completedBefore(asset, named, deadline)
            if mayBeOurs, outcome != .completed(body(asset)) { giveBack() }
            return outcome
        case .partsRefused:
            giveBack()
            return .incomplete(.refused)
        }
    }

    /// - Returns: whether there was something to give up.
    func abort(_ ticket: CompanionTicket) async throws(AWSError) -> Bool {
        let asset = try names.named(ticket.objectKey)
        return try await s3.abortMultipartUpload(asset.object, uploadID: ticket.uploadID, deadline: deadline)
    }

    private func stored(
        _ ticket: CompanionTicket, _ deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> [UploadedPart]? {
        try await s3.parts(of: ticket.uploadID, try names.named(ticket.objectKey).object, deadline: deadline)
    }

    private func body(_ asset: NewAsset) -> CompanionCompletionBody {
        CompanionCompletionBody(location: asset.url, key: asset.key, bucket: bucket)
    }

    private func seconds(until expiration: Date) -> Int {
        max(0, Int(expiration.timeIntervalSince(now()).rounded(.down)))
    }

    /// The name was drawn for this upload: an object of it can only have come of its parts. Which ones, its entity tag says
    /// until a renewal copies it.
    private func completedBefore(
        _ asset: NewAsset, _ named: [CompanionCompletionRequest.Part], _ deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> Outcome {
        guard let stored = try await s3.head(asset.object, deadline: deadline) else { return .gone }
        if let made = stored.partsMD5, let asked = StoredObject.md5(ofParts: named.map(\.entityTag)) {
            guard made.count == named.count, asked == made.md5 else { return .incomplete(.otherParts) }
        }
        return .completed(body(asset))
    }

    /// - Returns: each named part, as S3 has it.
    static func matching(
        _ named: [CompanionCompletionRequest.Part], _ stored: [UploadedPart]
    ) throws(UploadCompletionRefusal) -> [UploadedPart] {
        // SeaweedFS lists a part twice that was sent twice.
        let byNumber = Dictionary(grouping: stored, by: \.number)
        var parts: [UploadedPart] = []
        for part in named {
            guard let found = byNumber[part.number] else { throw .missing(part.number) }
            let tag = MultipartLayout.bare(part.entityTag)
            guard let same = found.last(where: { MultipartLayout.bare($0.entityTag) == tag }) else {
                throw .tag(part.number)
            }
            parts.append(same)
        }
        return parts
    }
}
