import CloakroomKit
import CloakroomKitTestSupport
import Foundation

/// All that a recovery touches, in memory: the server and S3, the app's cache and database, and the journal.
///
/// ``log`` has each call in order; a call whose first word has a failure waiting throws it, before it does anything.
actor RecoveryFixture {
    private(set) var log: [String] = []
    /// What S3 has: byte counts by key.
    private(set) var objects: [String: Int64] = [:]
    private(set) var journal: [RenewableAsset: RecoveryRecord] = [:]
    /// What the app's database has for each of its images.
    private(set) var urls: [String: URL] = [:]
    private var cached: [RenewableAsset: UploadContent] = [:]
    private var failures: [String: [any Error]] = [:]
    private var places = 0
    private var gate: Gate?
    private var renewedKey: String?
    private let time: FakeRuntime

    init(time: FakeRuntime) { self.time = time }

    func recovery(renewals: (any RenewalStore)? = nil) -> AssetRecovery {
        AssetRecovery(
            uploader: self, cache: self, urls: self, journal: self, renewals: renewals, runtime: time.runtime)
    }

    /// An asset that the app's database has, and its cache, if there are bytes.
    func add(_ asset: RenewableAsset, cached bytes: String?) {
        urls[asset.place] = asset.url
        cached[asset] = bytes.map { UploadContent(Data($0.utf8), contentType: "application/octet-stream") }
    }

    func cache(_ bytes: String?, for asset: RenewableAsset) {
        cached[asset] = bytes.map { UploadContent(Data($0.utf8), contentType: "application/octet-stream") }
    }

    /// The user chooses another image.
    func set(_ url: URL?, for asset: RenewableAsset) { urls[asset.place] = url }
    func put(_ record: RecoveryRecord) { journal[record.asset] = record }
    func store(_ key: String) { objects[key] = 5 }
    func hold(at gate: Gate) { self.gate = gate }
    /// Renewals name this key, whatever was requested.
    func answerRenewals(with key: String) { renewedKey = key }
    func fail(_ call: String, _ errors: any Error...) { failures[call, default: []] += errors }

    func takeLog() -> [String] {
        defer { log = [] }
        return log
    }

    private func note(_ entry: String) throws {
        log.append(entry)
        let call = entry.split(separator: " ").first.map(String.init) ?? entry
        guard let error = failures[call]?.first else { return }
        failures[call]?.removeFirst()
        log[log.count - 1] += " ✗"
        throw error
    }
}

extension RecoveryFixture: PresignedUploader, AssetRenewer {
    func requestUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget {
        try note("request \(byteCount ?? -1)")
        places += 1
        return .numbered(places, expiration: time.wallTime + 900)
    }

    func upload(_ body: HTTPBody, to target: UploadTarget) async throws {
        if let gate { _ = await gate.pass() }
        try note("put \(target.objectKey)")
        if objects[target.objectKey] == nil { objects[target.objectKey] = body.byteCount }
    }

    func renewAssets(keys: [String]) throws -> [RenewalResult] {
        try note("renew \(keys.joined(separator: ","))")
        return keys.map { key in
            RenewalResult(
                key: renewedKey ?? key, outcome: objects[key] == nil ? .notFound : .renewed(expiration: nil))
        }
    }
}

extension RecoveryFixture: AssetCache, AssetURLWriter {
    func cachedContent(for asset: RenewableAsset) throws -> UploadContent? {
        try note("cache")
        return cached[asset]
    }

    func replaceURL(of asset: RenewableAsset, with newURL: URL) throws -> Bool {
        try note("replace \(newURL.lastPathComponent)")
        if urls[asset.place] == asset.url { urls[asset.place] = newURL }
        return urls[asset.place] == newURL
    }

    func clearURL(of asset: RenewableAsset) throws {
        try note("clear")
        if urls[asset.place] == asset.url { urls[asset.place] = nil }
    }
}

extension RecoveryFixture: RecoveryJournal {
    func records() throws -> [RecoveryRecord] {
        try note("read")
        return journal.values.sorted { $0.key < $1.key }
    }

    func record(of asset: RenewableAsset) throws -> RecoveryRecord? { journal[asset] }

    func write(_ record: RecoveryRecord) throws {
        let step =
            switch record.step {
            case .missing: "missing"
            case .expired: "expired"
            case .uploading(let place): "uploading \(place.target.objectKey)"
            case .uploaded(let object): "uploaded \(object.key)"
            case .clearing: "clearing"
            }
        try note("write \(step)" + (record.refusal.map { " \($0.code)" } ?? ""))
        journal[record.asset] = record
    }

    func remove(_ asset: RenewableAsset) throws {
        try note("remove")
        journal[asset] = nil
    }
}

extension UploadTarget {
    static func numbered(_ number: Int, key: String? = nil, expiration: Date?) -> UploadTarget {
        UploadTarget(
            objectKey: key ?? "new\(number).bin", uploadURL: URL(string: "https://s3.example/new\(number).bin?signed")!,
            assetURL: URL(string: "https://cdn.example/new\(number).bin")!, expiration: expiration,
            fields: ["Content-Type": "application/octet-stream"])
    }
}

extension RenewableAsset {
    static func group(_ name: String) -> RenewableAsset {
        .groupImage(url: URL(string: "https://cdn.example/\(name).bin")!, conversationID: name)
    }

    /// Where the app keeps its URL.
    fileprivate var place: String {
        switch self {
        case .profileAvatar(_, let conversation, let inbox): "avatar \(conversation) \(inbox)"
        case .groupImage(_, let conversation): "group \(conversation)"
        case .other(let id, _): "other \(id)"
        }
    }
}
