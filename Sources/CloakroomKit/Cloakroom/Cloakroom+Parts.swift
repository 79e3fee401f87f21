import Foundation

/// What an app makes when it needs it, and keeps; ``signOut(_:carrier:)`` ends all of it. Once that has begun, these throw
/// ``CloakroomError/Code/tokenUnavailable``.
extension Cloakroom {
    /// A queue of uploads that survives the end of the app: see <doc:Background>.
    ///
    /// Make one, and keep it: a second one cannot open the queue. Its database is opened where this is called. Photos that are
    /// larger than ``Outbox/Options/largestPut`` go over ``Configuration/backgroundTransport``, or, where `options` allow any
    /// network, over ``Configuration/transport``.
    ///
    /// - Parameters:
    ///   - carrier: such as the process's `BackgroundSessionCarrier`; by default ``Configuration/transport``, while the app runs.
    ///   - conditions: power and network as they are, for `options` to demand; by default those of the device on Apple's
    ///     systems, and on others any.
    /// - Throws: ``CloakroomError``, as ``Outbox/init(folder:owner:photos:assets:carrier:conditions:options:)``, and
    ///   ``CloakroomError/Code/tokenUnavailable`` once a sign-out has begun.
    public func outbox(
        carrier: (any TransferCarrier)? = nil, conditions: (any RunConditions)? = nil,
        options: Outbox.Options = Outbox.Options()
    ) throws -> Outbox {
        // Opened under the lock: a sign-out ends it, or there is none.
        try open.withLock { parts in
            try parts.requireSignedIn()
            let outbox = try openOutbox(
                in: outboxPlace.prepared(), carrier, conditions ?? DeviceConditions.ofThisDevice, options)
            parts.outbox = outbox
            return outbox
        }
    }

    private func openOutbox(
        in folder: URL, _ carrier: (any TransferCarrier)?, _ conditions: any RunConditions, _ options: Outbox.Options
    ) throws -> Outbox {
        try Outbox(
            folder: folder, owner: owner,
            photos: options.conditions.network == .unrestricted ? objects : background,
            assets: client,
            carrier: carrier
                ?? TransportCarrier(transport: configuration.transport, runtime: configuration.runtime),
            conditions: conditions, options: options, runtime: configuration.runtime)
    }

    /// For a sign-out: an outbox that an earlier launch has left.
    ///
    /// - Parameter opened: that of this launch, which has ended: the other one is sent by the same means.
    func leftOutbox(in folder: URL, like opened: Outbox?, _ carrier: (any TransferCarrier)?) throws -> Outbox {
        try openOutbox(
            in: folder, carrier ?? opened?.carrier, opened?.conditions ?? DeviceConditions.ofThisDevice,
            opened?.options ?? Outbox.Options())
    }

    /// Loads photos, thumbnails and images of URLs, with a cache on the disk: see <doc:ShowingImages>.
    ///
    /// Make one, and keep it. The list of what is cached is read where this is called.
    ///
    /// - Parameter hasEnded: whether an object is not to be shown any more, such as `MessageRetention.hasEnded(assetKey:)`.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``, ``CloakroomError/Code/tokenUnavailable`` once a
    ///   sign-out has begun, and for ``Configuration/assetBaseURLs`` that are none.
    public func images(
        settings: ImageLoaderSettings = ImageLoaderSettings(),
        hasEnded: (@Sendable (_ objectKey: String) async throws -> Bool)? = nil
    ) throws -> ImageLoader {
        try requireSignedIn()
        let baseURLs = configuration.assetBaseURLs
        let images = try ImageLoader(
            folder: configuration.cacheFolder, owner: owner, client: reader, layout: layout,
            transport: configuration.transport,
            baseURLs: baseURLs.isEmpty ? nil : try AssetBaseURLs(baseURLs), settings: settings,
            serverClock: client.serverClock, runtime: configuration.runtime, hasEnded: hasEnded)
        try open.withLock { parts in
            try parts.requireSignedIn()
            parts.images.append(images)
        }
        return images
    }

    /// Renews the images that the app shows, and uploads those again that are gone, where it has their bytes.
    ///
    /// Make one, and keep it: runs of two are not one another's. On a full disk its records are kept in memory, which is reported
    /// to ``Configuration/onStoreFailure``.
    ///
    /// - Parameters:
    ///   - collector: which images.
    ///   - cache: where their bytes may be; `nil` for no recovery.
    ///   - urls: where the app keeps their URLs; `nil` for no recovery.
    /// - Throws: ``CloakroomError``, as ``init(configuration:user:tokens:)``, ``CloakroomError/Code/tokenUnavailable`` once a
    ///   sign-out has begun, and ``CloakroomError/Code/invalidRequest`` without ``Configuration/assetBaseURLs``, or where they
    ///   are none: no image would be renewed.
    public func renewals(
        of collector: any AssetRenewalURLCollector, cache: (any AssetCache)? = nil, urls: (any AssetURLWriter)? = nil
    ) throws -> AssetRenewalManager {
        try requireSignedIn()
        guard !configuration.assetBaseURLs.isEmpty else {
            throw CloakroomError(.invalidRequest, "Configuration.assetBaseURLs has none of the images' origins")
        }
        let store = try account.openRecords("renewals.sqlite") {
            try SQLiteRenewalStore(at: $0, owner: owner, runtime: configuration.runtime)
        }
        var recovery: AssetRecovery?
        if let cache, let urls {
            recovery = AssetRecovery(
                uploader: client, cache: cache, urls: urls,
                journal: try account.openRecords("recovery.sqlite") { try SQLiteRecoveryJournal(at: $0, owner: owner) },
                renewals: store, runtime: configuration.runtime)
        }
        let renewals = AssetRenewalManager(
            renewer: client, collector: collector, store: store, recovery: recovery,
            baseURLs: try AssetBaseURLs(configuration.assetBaseURLs), runtime: configuration.runtime)
        try open.withLock { parts in
            try parts.requireSignedIn()
            parts.renewals.append(renewals)
        }
        return renewals
    }

    /// Backs up a source of photos, such as the device's library, over networks that cost nothing.
    ///
    /// Make one for each source, and keep it.
    ///
    /// - Parameters:
    ///   - name: of its files, letters and digits: another one for each source.
    ///   - conditions: power and network as they are; by default those of the device on Apple's systems, and on others any.
    ///   - requirements: what they have to be; the networks are those of ``Configuration/backgroundTransport``.
    /// - Throws: ``CloakroomError``, as ``init(configuration:user:tokens:)``, and ``CloakroomError/Code/tokenUnavailable``
    ///   once a sign-out has begun.
    public func backup(
        of source: any PhotoSource, named name: String = "library", conditions: (any RunConditions)? = nil,
        requirements: TransferConditions = TransferConditions(network: .inexpensive)
    ) throws -> SourceBackup {
        try requireSignedIn()
        guard !name.isEmpty, name.utf8.allSatisfy({ PhotoLayout.isWord($0) }) else {
            throw CloakroomError(.invalidRequest, "a source's name is letters, digits, hyphens and underscores")
        }
        return SourceBackup(
            source: source, client: background, layout: layout,
            journal: try account.openRecords("\(SourceBackup.folderName(name)).sqlite") {
                try SourceJournal(at: $0, owner: owner, runtime: configuration.runtime)
            },
            folder: folder.appendingPathComponent(SourceBackup.folderName(name), isDirectory: true),
            conditions: conditions,
            requirements: requirements)
    }

    private func requireSignedIn() throws { try open.withLock { try $0.requireSignedIn() } }

    var outboxPlace: OutboxPlace { OutboxPlace(of: owner, in: configuration.folder, userFolder: folder) }
}

extension SourceBackup {
    private static let folderPrefix = "source-"

    /// Of files that are made of a source's photos, in the user's folder.
    static func folderName(_ source: String) -> String { folderPrefix + source }

    /// A source's journal has an ending.
    static func isFolder(_ name: String) -> Bool { name.hasPrefix(folderPrefix) && !name.contains(".") }
}
