import CloakroomKit
import Foundation
import Testing

extension EndToEnd {
    /// Images that S3 has let go, found missing by a renewal.
    @Suite struct KitRecoveries {
        @Test func `a lost image comes back from the cache; else its URL goes on the second day`() async throws {
            try await Stack.run("kit-recovery", .init(nginx: true, s3: true)) { stack in
                let kit = try Kit(stack)
                let days = LeapingClock.days
                let bytes = UploadContent(Data("an image".utf8), contentType: "image/jpeg")
                let uploads = AssetUploader(uploader: kit.client)
                let cached = try await uploads.uploadGroupImage(bytes, conversationID: "cached")
                let uncached = try await uploads.uploadGroupImage(bytes, conversationID: "uncached")
                let app = AppData([cached, uncached], cache: [cached: bytes])
                let store = try SQLiteRenewalStore(
                    at: URL(fileURLWithPath: "\(stack.folder)/renewals.db"), owner: kit.owner)
                let journal = try SQLiteRecoveryJournal(
                    at: URL(fileURLWithPath: "\(stack.folder)/recoveries.db"), owner: kit.owner)
                let recovery = AssetRecovery(
                    uploader: kit.client, cache: app, urls: app, journal: journal, renewals: store,
                    runtime: days.runtime)
                let manager = AssetRenewalManager(
                    renewer: kit.client, collector: app, store: store, recovery: recovery, baseURLs: kit.baseURLs,
                    runtime: days.runtime)
                let lost = try [cached, uncached].map { try #require($0.key(in: kit.baseURLs)) }
                for key in lost { try EndToEnd.s3().delete(key) }

                #expect(await manager.renewIfNeeded().notFound.sorted() == lost.sorted())
                let url = try #require(await app.url(in: "cached"))
                #expect(url != cached.url)
                let key = try #require(RenewableAsset.groupImage(url: url, conversationID: "c").key(in: kit.baseURLs))
                #expect(try EndToEnd.s3().content(key) == "an image")
                #expect(try EndToEnd.s3().head(key).fields["content-type"] == "image/jpeg")

                // The same day it is only looked at again, however often.
                #expect(await manager.forceRenewal().notFound == [lost[1]])
                #expect(await app.url(in: "uncached") == uncached.url)
                days.pass()
                let second = await manager.renewIfNeeded()
                #expect(second.notFound == [lost[1]] && second.notDue == 1)
                #expect(await app.url(in: "uncached") == nil)
                #expect(await app.url(in: "cached") == url)
                #expect(try await journal.records() == [])
            }
        }
    }
}

/// An app's database and its cache of images.
private actor AppData: AssetRenewalURLCollector, AssetCache, AssetURLWriter {
    private var urls: [String: URL] = [:]
    private let cache: [RenewableAsset: UploadContent]

    init(_ images: [RenewableAsset], cache: [RenewableAsset: UploadContent]) {
        self.cache = cache
        for case .groupImage(let url, let conversation) in images { urls[conversation] = url }
    }

    func url(in conversation: String) -> URL? { urls[conversation] }

    func renewableAssets() -> [RenewableAsset] {
        urls.map { .groupImage(url: $0.value, conversationID: $0.key) }
    }

    func cachedContent(for asset: RenewableAsset) -> UploadContent? { cache[asset] }

    func replaceURL(of asset: RenewableAsset, with newURL: URL) -> Bool {
        guard case .groupImage(let url, let conversation) = asset else { return false }
        if urls[conversation] == url { urls[conversation] = newURL }
        return urls[conversation] == newURL
    }

    func clearURL(of asset: RenewableAsset) {
        guard case .groupImage(let url, let conversation) = asset, urls[conversation] == url else { return }
        urls[conversation] = nil
    }
}
