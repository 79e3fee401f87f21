import CloakroomKit
import Foundation

/// Every part that an app may bring, by a value.
public struct Value: Sendable {
    private let notes = Notes()

    public init() {}
}

/// What values of an app share.
private actor Notes {
    private var noted = Noted()

    func change<Result: Sendable>(_ body: @Sendable (inout Noted) -> Result) -> Result { body(&noted) }
}

extension Value: TokenProvider {
    public func token() -> String { "consumer-token" }
    public func token(ofUser userID: String) -> String { "consumer-token" }
    public func tokenRefused(_ token: String) async { await notes.change { $0.refusedTokens.append(token) } }
    public func sessionRevoked(_ token: String) async { await notes.change { $0.refusedTokens.append(token) } }
}

extension Value: CredentialVendor {
    public func vendCredentials() throws -> VendedCredentials { try Examples.credentials() }
}

extension Value: CredentialStore {
    public func load() async -> StoredCredentials? { await notes.change { $0.credentials } }
    public func save(_ credentials: StoredCredentials) async { await notes.change { $0.credentials = credentials } }
    public func clear() async { await notes.change { $0.credentials = nil } }
}

extension Value: AssetRenewalURLCollector {
    public func renewableAssets() throws -> [RenewableAsset] { [try Examples.asset()] }
}

extension Value: AssetRenewer {
    public func renewAssets(keys: [String]) -> [RenewalResult] {
        keys.map { RenewalResult(key: $0, outcome: .notFound) }
    }
}

extension Value: RenewalStore {
    public func records() async -> [RenewalRecord] { await notes.change { $0.renewals } }
    public func save(_ records: [RenewalRecord]) async { await notes.change { $0.renewals = records } }
    public func remove(keys: [String]) async { await notes.change { $0.renewals.removeAll { keys.contains($0.key) } } }
    public func pauseEnd() -> Date? { nil }
    public func savePauseEnd(_ date: Date?) {}
}

extension Value: AssetCache {
    public func cachedContent(for asset: RenewableAsset) -> UploadContent? {
        UploadContent(Data("picture".utf8), contentType: "application/octet-stream")
    }
}

extension Value: PhotoSource {
    public func changes(since token: Data?) -> PhotoChanges { PhotoChanges([Examples.photo]) }
    public func file(of photo: SourcePhoto, in folder: URL) throws -> URL { try Examples.file(in: folder) }
}

extension Value: AssetURLWriter {
    public func replaceURL(of asset: RenewableAsset, with newURL: URL) async -> Bool {
        await notes.change { $0.newURL = newURL }
        return true
    }
    public func clearURL(of asset: RenewableAsset) async { await notes.change { $0.newURL = nil } }
}

extension Value: RecoveryJournal {
    public func records() async -> [RecoveryRecord] { await notes.change { $0.recoveries } }
    public func record(of asset: RenewableAsset) async -> RecoveryRecord? {
        await notes.change { $0.recoveries.first { $0.asset == asset } }
    }
    public func write(_ record: RecoveryRecord) async {
        await remove(record.asset)
        await notes.change { $0.recoveries.append(record) }
    }
    public func remove(_ asset: RenewableAsset) async {
        await notes.change { $0.recoveries.removeAll { $0.asset == asset } }
    }
}

extension Value: ExpiredAssetRecoveryHandler {
    public func resumeRecoveries() {}
    public func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) async -> RecoveryOutcome {
        await notes.change { $0.expiredKeys.append(key) }
        return .awaitingConfirmation(since: date)
    }
    public func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) {}
}

extension Value: PresignedUploader {
    public func requestUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget { try Examples.target() }
    public func requestChatUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget {
        try Examples.target()
    }
    public func upload(_ body: HTTPBody, to target: UploadTarget) async {
        await notes.change { $0.uploadedKeys.append(target.objectKey) }
    }
}

extension Value: ImageReleaser {
    public func release(_ images: [ImageRelease]) -> [ImageReleaseResult] {
        images.map { ImageReleaseResult(objectKey: $0.objectKey, outcome: .released(bytesGoneBy: nil)) }
    }
}

extension Value: PhotoSidecarProvider {
    public func thumbnail(of photo: URL) -> Data? { nil }
    public func metadata(of photo: URL) -> Data? { nil }
}

extension Value: MultipartJournal {
    public func upload(of key: String, in bucket: String) async -> MultipartUpload? {
        await notes.change { $0.uploads.first { $0.key == key && $0.bucket == bucket } }
    }
    public func save(_ upload: MultipartUpload) async { await notes.change { $0.uploads.append(upload) } }
    public func remove(_ upload: MultipartUpload) async { await notes.change { $0.uploads.removeAll { $0 == upload } } }
    public func uploads() async -> [MultipartUpload] { await notes.change { $0.uploads } }
}

extension Value: HTTPTransport {
    public func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        await notes.change { $0.requests += 1 }
        throw .untrusted
    }
}

extension Value: RunConditions {
    public func current() -> DeviceConditions { DeviceConditions(network: .none) }
}

extension Value: TransferCarrier {
    public func start(_ request: HTTPRequest, id: String) throws { throw CloakroomError(.untrusted, "no transfers") }
    public func transfersUnderWay() -> Set<String> { [] }
    public func cancel(id: String) {}
    public func outlivesProcess() -> Bool { false }
    public func events() -> AsyncStream<TransferEvent> { AsyncStream { $0.finish() } }
}

extension Value: AppleIDStateSource {
    public func state(ofAppleUser user: String) -> AppleIDState { .authorized }
    public func revocations() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}
