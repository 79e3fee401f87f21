import CloakroomKit
import Foundation

/// Every part that an app may bring, by an actor, as databases are.
public actor Database {
    private var noted = Noted()

    public init() {}
}

extension Database: TokenProvider {
    public func token() -> String { "consumer-token" }
    public func token(ofUser userID: String) -> String { "consumer-token" }
    public func tokenRefused(_ token: String) { noted.refusedTokens.append(token) }
    public func sessionRevoked(_ token: String) { noted.refusedTokens.append(token) }
}

extension Database: CredentialVendor {
    public func vendCredentials() throws -> VendedCredentials { try Examples.credentials() }
}

extension Database: CredentialStore {
    public func load() -> StoredCredentials? { noted.credentials }
    public func save(_ credentials: StoredCredentials) { noted.credentials = credentials }
    public func clear() { noted.credentials = nil }
}

extension Database: AssetRenewalURLCollector {
    public func renewableAssets() async throws -> [RenewableAsset] { try await renewableAssetBatches().all() }
    public func renewableAssetBatches() throws -> AssetBatches {
        AssetBatches([try Examples.asset()])
    }
}

extension Database: AssetRenewer {
    public func renewAssets(keys: [String]) -> [RenewalResult] {
        keys.map { RenewalResult(key: $0, outcome: .notFound) }
    }
}

extension Database: RenewalStore {
    public func records() -> [RenewalRecord] { noted.renewals }
    public func save(_ records: [RenewalRecord]) { noted.renewals = records }
    public func remove(keys: [String]) { noted.renewals.removeAll { keys.contains($0.key) } }
    public func pauseEnd() -> Date? { nil }
    public func savePauseEnd(_ date: Date?) {}
}

extension Database: AssetCache {
    public func cachedContent(for asset: RenewableAsset) -> UploadContent? {
        UploadContent(Data("picture".utf8), contentType: "application/octet-stream")
    }
}

extension Database: PhotoSource {
    public func changes(since token: Data?) -> PhotoChanges { PhotoChanges([Examples.photo]) }
    public func file(of photo: SourcePhoto, in folder: URL) throws -> URL { try Examples.file(in: folder) }
}

extension Database: AssetURLWriter {
    public func replaceURL(of asset: RenewableAsset, with newURL: URL) -> Bool {
        noted.newURL = newURL
        return true
    }
    public func clearURL(of asset: RenewableAsset) { noted.newURL = nil }
}

extension Database: RecoveryJournal {
    public func records() -> [RecoveryRecord] { noted.recoveries }
    public func record(of asset: RenewableAsset) -> RecoveryRecord? {
        noted.recoveries.first { $0.asset == asset }
    }
    public func write(_ record: RecoveryRecord) {
        remove(record.asset)
        noted.recoveries.append(record)
    }
    public func remove(_ asset: RenewableAsset) { noted.recoveries.removeAll { $0.asset == asset } }
}

extension Database: ExpiredAssetRecoveryHandler {
    public func resumeRecoveries() {}
    public func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) -> RecoveryOutcome {
        noted.expiredKeys.append(key)
        return .awaitingConfirmation(since: date)
    }
    public func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) {}
}

extension Database: PresignedUploader {
    public func requestUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget { try Examples.target() }
    public func requestChatUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget {
        try Examples.target()
    }
    public func upload(_ body: HTTPBody, to target: UploadTarget) { noted.uploadedKeys.append(target.objectKey) }
}

extension Database: ImageReleaser {
    public func release(_ images: [ImageRelease]) -> [ImageReleaseResult] {
        images.map { ImageReleaseResult(objectKey: $0.objectKey, outcome: .released(bytesGoneBy: nil)) }
    }
}

extension Database: PhotoSidecarProvider {
    public func thumbnail(of photo: URL) -> Data? { nil }
    public func metadata(of photo: URL) -> Data? { nil }
}

extension Database: MultipartJournal {
    public func upload(of key: String, in bucket: String) -> MultipartUpload? {
        noted.uploads.first { $0.key == key && $0.bucket == bucket }
    }
    public func save(_ upload: MultipartUpload) { noted.uploads.append(upload) }
    public func remove(_ upload: MultipartUpload) { noted.uploads.removeAll { $0 == upload } }
    public func uploads() -> [MultipartUpload] { noted.uploads }
}

extension Database: HTTPTransport {
    public func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) throws(HTTPTransportError) -> HTTPResponse {
        noted.requests += 1
        throw .untrusted
    }
}

extension Database: RunConditions {
    public func current() -> DeviceConditions { DeviceConditions(network: .none) }
}

extension Database: TransferCarrier {
    public func start(_ request: HTTPRequest, id: String) throws { throw CloakroomError(.untrusted, "no transfers") }
    public func transfersUnderWay() -> Set<String> { [] }
    public func cancel(id: String) {}
    public func outlivesProcess() -> Bool { false }
    public func events() -> AsyncStream<TransferEvent> { AsyncStream { $0.finish() } }
}

extension Database: AppleIDStateSource {
    public func state(ofAppleUser user: String) -> AppleIDState { .authorized }
    public func revocations() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}
