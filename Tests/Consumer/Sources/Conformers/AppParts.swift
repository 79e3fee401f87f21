import CloakroomKit
import Foundation

/// Each protocol of the kit that an app may implement.
public typealias AppParts = AppleIDStateSource & AssetCache & AssetRenewalURLCollector & AssetRenewer & AssetURLWriter
    & CredentialStore & CredentialVendor & ExpiredAssetRecoveryHandler & HTTPTransport & ImageReleaser
    & MultipartJournal
    & PhotoSidecarProvider & PhotoSource & PresignedUploader & RecoveryJournal & RenewalStore & RunConditions
    & TokenProvider & TransferCarrier

/// Gives an app's parts to the kit, and says what came of it.
///
/// - Parameter photo: a file to be backed up; the parts' transport trusts no server.
/// - Returns: such as `token yes, credentials yes, …`.
public func outcome(of parts: any AppParts, photo: URL) async throws -> String {
    let client = CloakroomClient(endpoint: try Examples.url("https://api.example"), tokens: parts, transport: parts)
    let provider = CredentialProvider(vendor: parts, store: parts)
    let vended = try await provider.credentials()
    let manager = AssetRenewalManager(
        renewer: parts, collector: parts, store: parts, recovery: parts,
        baseURLs: try AssetBaseURLs([try Examples.url("https://cdn.example")]))
    let renewal = await manager.renewIfNeeded()
    let recovery = AssetRecovery(uploader: parts, cache: parts, urls: parts, journal: parts, renewals: parts)
    let recovered = await recovery.handleExpiredAsset(try Examples.asset(), key: "a.bin", at: Date())
    let backup = PhotoBackup(
        client: S3BackupClient(credentials: provider, transport: parts, journal: parts),
        layout: try PhotoLayout(userID: "u_1"), sidecars: parts)
    let report = await backup.backUp([photo])
    let changes = try await parts.changes(since: nil)
    var exported = 0
    for try await found in changes.photos {
        try FileManager.default.removeItem(at: await parts.file(of: found, in: photo.deletingLastPathComponent()))
        exported += 1
    }
    let released = try await parts.release([ImageRelease(objectKey: "b.bin", releaseToken: "token")])
    let outboxes = photo.deletingPathExtension().appendingPathExtension("outbox-\(UUID().uuidString)")
    let outbox = try Outbox(
        folder: outboxes, owner: StoreOwner(user: "u_1", endpoint: try Examples.url("https://api.example")),
        photos: nil,
        assets: parts, carrier: parts, conditions: parts)
    try await outbox.add(asset: UploadContent(Data("picture".utf8), contentType: "image/jpeg"), reference: "a")
    let sent = await outbox.run()
    try FileManager.default.removeItem(at: outboxes)
    let refusal = await code { _ = try await client.vendCredentials() }
    let sessions = SessionTokenProvider(endpoint: try Examples.url("https://api.example"), transport: parts)
    let states: any AppleIDStateSource = parts
    var appleID = await AppleIDWatch(source: states, tokens: sessions).check()
    if appleID == nil { appleID = try await states.state(ofAppleUser: "001.a") }
    let isRecovered = if case .recovered = recovered { true } else { false }
    return [
        "key \(vended.accessKeyID)", "missing \(renewal.notFound)", "recovered \(isRecovered)",
        "backup \(report.failures.first?.error.code.rawValue ?? report.stoppedBy?.code.rawValue ?? "done")",
        "exported \(exported)", "released \(released.count)", "outbox \(sent.stoppedBy?.code.rawValue ?? "done")",
        "client \(refusal)", "apple \(appleID.map { "\($0)" } ?? "unknown")",
    ].joined(separator: ", ")
}

private func code(_ body: () async throws -> Void) async -> String {
    do {
        try await body()
        return "done"
    } catch {
        return (error as? CloakroomError)?.code.rawValue ?? "\(error)"
    }
}
