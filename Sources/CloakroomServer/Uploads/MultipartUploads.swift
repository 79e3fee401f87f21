import CloakroomAWS
import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Multipart uploads: begun, looked after and completed here; the parts go from the client to S3.
@LoopActor
final class MultipartUploads {
    /// What came of completing one.
    enum Outcome: Equatable {
        case completed(UploadedBody)
        /// Not yet; the sentence says which part.
        case incomplete(UploadCompletionRefusal)
        case gone
    }

    private let s3: S3Client
    private let seal: TicketSeal
    private let names: AssetNames
    private let chatNames: ChatNames?
    private let urlLifetime: Duration
    private let idLifetime: Duration
    private let requestDeadline: Duration
    private let now: @Sendable () -> Date

    /// - Precondition: the settings have a key.
    init(
        s3: S3Client, settings: Settings.Uploads, names: AssetNames, chatNames: ChatNames?, requestDeadline: Duration,
        now: @escaping @Sendable () -> Date
    ) {
        self.s3 = s3
        self.names = names
        self.chatNames = chatNames
        self.requestDeadline = requestDeadline
        self.now = now
        seal = TicketSeal(keys: settings.idKeys)
        urlLifetime = settings.lifetime
        idLifetime = settings.multipartLifetime
    }

    private var deadline: ContinuousClock.Instant { .now + requestDeadline }

    func begin(_ upload: MultipartUploadParameters, for user: UserID) async throws(AWSError) -> MultipartUploadBody {
        let (asset, releaseToken) = try names.next(for: upload.purpose, of: user, chat: chatNames)
        let uploadID = try await s3.createMultipartUpload(
            asset.object, contentType: upload.contentType,
            fields: upload.checksum.map { ["x-amz-meta-sha256": $0] } ?? [:], deadline: deadline)
        let seconds = now().timeIntervalSince1970.rounded(.down) + Double(idLifetime.components.seconds)
        let ticket = UploadTicket(
            objectKey: asset.key, uploadID: uploadID, plan: upload.plan,
            expiration: Date(timeIntervalSince1970: seconds))
        return MultipartUploadBody(
            uploadId: seal.id(ticket, of: user), objectKey: asset.key, assetUrl: asset.url,
            partBytes: upload.plan.partBytes, partCount: upload.plan.partCount, expiresAt: ticket.expiration,
            releaseToken: releaseToken)
    }

    /// - Returns: `nil` for an id that is not this user's; no request is sent.
    func ticket(_ id: String, of user: UserID) -> UploadTicket? { seal.ticket(id, of: user, at: now()) }

    func parts(_ numbers: ClosedRange<Int>, of ticket: UploadTicket) async throws(AWSError) -> MultipartPartsBody {
        let terms = numbers.map { PartTerms(number: $0, byteCount: ticket.plan.byteCount(ofPart: $0)) }
        let asset = try names.named(ticket.objectKey)
        let (urls, expiration) = try await s3.presignParts(
            asset.object, uploadID: ticket.uploadID, parts: terms, lifetime: urlLifetime)
        return MultipartPartsBody(
            parts: zip(terms, urls).map { part, url in
                .init(partNumber: part.number, uploadUrl: url.reveal(), contentLength: part.byteCount)
            }, partBytes: ticket.plan.partBytes, partCount: ticket.plan.partCount, expiresAt: expiration)
    }

    /// Completes it once all parts are there with their lengths, as S3 itself lists them.
    ///
    /// A client that repeats the request, because the response was lost, is told that it is complete.
    /// - Parameter etags: of all parts, as the client knows them; `nil`: S3's word is enough.
    func complete(_ ticket: UploadTicket, etags: [String]?) async throws(AWSError) -> Outcome {
        let asset = try names.named(ticket.objectKey)
        let deadline = deadline
        guard let stored = try await s3.parts(of: ticket.uploadID, asset.object, deadline: deadline) else {
            return try await completedBefore(ticket, asset, etags, deadline)
        }
        let parts: [UploadedPart]
        do throws(UploadCompletionRefusal) { parts = try ticket.plan.matching(stored, etags: etags) } catch {
            return .incomplete(error)
        }
        // An attempt may take what is left of the request's time: S3 may take minutes for a large object, and each new attempt
        // would only request again what it is at.
        switch try await s3.completeMultipartUpload(
            asset.object, uploadID: ticket.uploadID, parts: parts, timeout: requestDeadline, deadline: deadline)
        {
        case .completed: return .completed(UploadedBody(objectKey: asset.key, assetUrl: asset.url))
        case .objectExists, .noSuchUpload: return try await completedBefore(ticket, asset, etags, deadline)
        case .partsRefused: return .incomplete(.refused)
        }
    }

    /// - Returns: whether there was something to give up.
    func abort(_ ticket: UploadTicket) async throws(AWSError) -> Bool {
        let asset = try names.named(ticket.objectKey)
        return try await s3.abortMultipartUpload(asset.object, uploadID: ticket.uploadID, deadline: deadline)
    }

    /// The name was drawn for this upload: an object of it can only have come of its parts. Which ones, its entity tag says
    /// until a renewal copies it.
    private func completedBefore(
        _ ticket: UploadTicket, _ asset: NewAsset, _ etags: [String]?, _ deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> Outcome {
        guard let stored = try await s3.head(asset.object, deadline: deadline),
            stored.byteCount == ticket.plan.byteCount
        else { return .gone }
        if let etags, etags.count != ticket.plan.partCount {
            return .incomplete(.tagCount(etags.count, expected: ticket.plan.partCount))
        }
        if let made = stored.partsMD5, made.count == ticket.plan.partCount,
            let asked = etags.flatMap({ StoredObject.md5(ofParts: $0) }), asked != made.md5
        {
            return .incomplete(.otherParts)
        }
        return .completed(UploadedBody(objectKey: asset.key, assetUrl: asset.url))
    }
}

/// Why an upload is not complete.
enum UploadCompletionRefusal: Error, Equatable {
    case missing(Int)
    case length(Int, is: Int, expected: Int)
    case tag(Int)
    case tagCount(Int, expected: Int)
    /// All parts together, in bytes.
    case tooLarge(Int, maximum: Int)
    /// By the store, though they are all there.
    case refused
    /// The object is there already, and not of these.
    case otherParts

    /// For programs.
    var reason: UploadIncompleteReason {
        switch self {
        case .missing: .partMissing
        case .length, .tooLarge: .partLength
        case .tag, .otherParts: .partETag
        case .tagCount: .etagCount
        case .refused: .partsRefused
        }
    }

    var sentence: String {
        switch self {
        case .refused: "The store does not take the parts as they are"
        case .otherParts: "The object is there, made of parts with other entity tags"
        case .missing(let number): "Part \(number) has not been uploaded"
        case .length(let number, let count, let expected): "Part \(number) has \(count) bytes instead of \(expected)"
        case .tooLarge(let count, let maximum): "The parts have \(count) bytes, and \(maximum) are the most"
        case .tag(let number): "Part \(number) has another entity tag"
        case .tagCount(let count, let expected): "There are \(count) etags for \(expected) parts"
        }
    }
}

extension MultipartLayout {
    /// - Parameter etags: one for each part, with or without quotation marks.
    /// - Returns: each part once, in order, as S3 has it.
    func matching(_ stored: [UploadedPart], etags: [String]?) throws(UploadCompletionRefusal) -> [UploadedPart] {
        if let etags, etags.count != partCount { throw .tagCount(etags.count, expected: partCount) }
        // SeaweedFS lists a part twice that was sent twice.
        let byNumber = Dictionary(grouping: stored, by: \.number)
        var parts: [UploadedPart] = []
        parts.reserveCapacity(partCount)
        for number in 1...partCount {
            guard let found = byNumber[number], let last = found.last else { throw .missing(number) }
            let expected = byteCount(ofPart: number)
            let whole = found.filter { $0.byteCount == expected }
            guard !whole.isEmpty else { throw .length(number, is: last.byteCount, expected: expected) }
            let tag = etags.map { Self.bare($0[number - 1]) }
            guard let part = whole.last(where: { tag == nil || Self.bare($0.entityTag) == tag }) else {
                throw .tag(number)
            }
            parts.append(part)
        }
        return parts
    }

    static func bare(_ tag: String) -> String { tag.filter { $0 != "\"" } }
}

/// How an object is cut: all parts of one size, the last of what is left.
///
/// Source: Amazon S3 User Guide, "Multipart upload limits": 5 MiB to 5 GiB a part, the last may be smaller, at most
/// 10,000 of them.
struct MultipartLayout: Sendable, Equatable {
    /// Of the whole object; at least one.
    let byteCount: Int
    /// Of each part but the last.
    let partBytes: Int

    private static let mebibyte = 1 << 20
    /// A part that breaks off on a bad connection is not much to send again.
    private static let minimumPartBytes = 8 * mebibyte
    private static let maximumPartBytes = 5 << 30
    /// As many as S3 lists in one response; only objects beyond 5 TB have more.
    private static let wantedParts = 1000
    /// The largest object there can be, of 10,000 parts of 5 GiB.
    static let maximumBytes = 10_000 * maximumPartBytes

    /// - Precondition: 1 to ``maximumBytes``.
    init(byteCount: Int) {
        let wanted = (byteCount + Self.wantedParts - 1) / Self.wantedParts
        let rounded = (wanted + Self.mebibyte - 1) / Self.mebibyte * Self.mebibyte
        self.byteCount = byteCount
        partBytes = min(max(rounded, Self.minimumPartBytes), Self.maximumPartBytes)
    }

    /// One that was made before, perhaps by another version.
    ///
    /// - Returns: `nil` when S3 takes no such parts.
    init?(byteCount: Int, partBytes: Int) {
        guard (1...Self.maximumBytes).contains(byteCount), (5 << 20...Self.maximumPartBytes).contains(partBytes),
            (byteCount - 1) / partBytes < 10_000
        else { return nil }
        self.byteCount = byteCount
        self.partBytes = partBytes
    }

    var partCount: Int { (byteCount + partBytes - 1) / partBytes }

    /// - Parameter number: 1 to ``partCount``.
    func byteCount(ofPart number: Int) -> Int { min(partBytes, byteCount - (number - 1) * partBytes) }

    /// Which parts a client requests: `numbers=7` or `numbers=1-100`.
    func numbers(query: String) throws(UploadRules.Refusal) -> ClosedRange<Int> {
        guard let parameters = QueryParameters(query), parameters.names == ["numbers"],
            let text = parameters["numbers"]
        else { throw .partNumbers(count: partCount) }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map {
            QueryParameters.integer($0)
        }
        guard let first = ends[0], let last = ends[ends.count - 1], first >= 1, first <= last, last <= partCount,
            last - first < WireLimits.maximumPartsPerRequest
        else { throw .partNumbers(count: partCount) }
        return first...last
    }
}
