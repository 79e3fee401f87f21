import CloakroomAWS
public import Foundation

/// Loads images to show: photos and thumbnails of the user's backup, and images of URLs, with a cache on the disk.
///
/// All callers of one image share one request; cancelling one of them does not cancel it for the others. A cached image
/// is checked against its digest whenever it is read. An image that has ended, was released, or whose messages have all
/// ended is removed from the cache, and not loaded again.
///
/// ```swift
/// let images = try ImageLoader(
///     folder: cachesFolder, owner: owner, client: s3, layout: try PhotoLayout(userID: session.userID))
/// let bytes = try await images.data(for: .thumbnail(md5: md5))
/// ```
public actor ImageLoader {
    struct Loaded: Sendable {
        let data: Data
        /// Where it is cached, or why it is not.
        let file: Result<URL, CloakroomError>
    }

    typealias Outcome = Result<Loaded, CloakroomError>

    private struct Flight {
        let number: UInt64
        var task: Task<Void, Never>?
        /// Why what comes is not cached.
        var reasonNotToCache: CloakroomError?
        var waiters: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
    }

    private struct Failure {
        let end: ContinuousClock.Instant
        let error: CloakroomError
    }

    let client: S3BackupClient?
    let layout: PhotoLayout?
    let transport: any HTTPTransport
    let baseURLs: AssetBaseURLs?
    let settings: ImageLoaderSettings
    let runtime: RuntimeDependencies
    private let serverClock: ServerClock?
    private let hasEnded: (@Sendable (_ objectKey: String) async throws -> Bool)?
    private var cache: ImageCache
    private var flights: [ImageID: Flight] = [:]
    private var failures: [ImageID: Failure] = [:]
    private var lastNumber: UInt64 = 0
    /// Of what was removed as a whole; a call that began before is at its end.
    private var generation = 0

    /// - Parameters:
    ///   - folder: for the caches of all users, each in a folder of its own; made where there is none. It belongs where
    ///     the system may delete files, such as `URL.cachesDirectory`, and to one loader at a time.
    ///   - owner: who is signed in, and where.
    ///   - client: reads photos and thumbnails; give it a transport for what the user waits for. `nil` without backups.
    ///   - layout: where the user's photos lie.
    ///   - transport: for images of URLs.
    ///   - baseURLs: as the ``AssetRenewalManager`` has them: one object under two of them is one image, and can be
    ///     discarded by its key.
    ///   - worker: by whose clock images end. The device's may be wrong: where it alone is known, nothing is removed for good.
    ///   - hasEnded: whether an object is not to be shown any more, such as `MessageRetention.hasEnded(assetKey:)`; called
    ///     before each image of a URL under `baseURLs`.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``. A full disk is no failure: nothing is cached until
    ///   there is room.
    public init(
        folder: URL, owner: StoreOwner, client: S3BackupClient? = nil, layout: PhotoLayout? = nil,
        transport: any HTTPTransport = URLSessionTransport(), baseURLs: AssetBaseURLs? = nil,
        settings: ImageLoaderSettings = ImageLoaderSettings(), worker: CloakroomClient? = nil,
        hasEnded: (@Sendable (_ objectKey: String) async throws -> Bool)? = nil
    ) throws {
        try self.init(
            folder: folder, owner: owner, client: client, layout: layout, transport: transport, baseURLs: baseURLs,
            settings: settings, serverClock: worker?.serverClock, runtime: RuntimeDependencies(), hasEnded: hasEnded)
    }

    init(
        folder: URL, owner: StoreOwner, client: S3BackupClient? = nil, layout: PhotoLayout? = nil,
        transport: any HTTPTransport, baseURLs: AssetBaseURLs? = nil,
        settings: ImageLoaderSettings = ImageLoaderSettings(), serverClock: ServerClock?, runtime: RuntimeDependencies,
        hasEnded: (@Sendable (_ objectKey: String) async throws -> Bool)? = nil
    ) throws {
        self.client = client
        self.layout = layout
        self.transport = transport
        self.baseURLs = baseURLs
        self.settings = settings
        self.runtime = runtime
        self.serverClock = serverClock
        self.hasEnded = hasEnded
        cache = ImageCache(
            try ImageCacheFolder(in: folder, owner: owner), maximumBytes: settings.maximumCacheBytes,
            now: runtime.wallClock())
    }

    /// The bytes of an image, as they were stored: encrypted, if the app encrypts.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/noSuchObject`` for one that is gone, or not to be shown any
    ///   more; ``CloakroomError/Code/cancelled``; what S3's or the CDN's response means.
    public func data(for source: ImageSource) async throws -> Data { try await load(source).data }

    /// The file of an image in the cache: to be opened at once, because others may take its place.
    ///
    /// - Throws: besides, ``CloakroomError/Code/diskFull``, and ``CloakroomError/Code/bodyTooLarge`` for an image that
    ///   is longer than the whole cache may be.
    public func file(for source: ImageSource) async throws -> URL { try await load(source).file.get() }

    /// Removes an image from the cache; the next call loads it anew.
    public func remove(_ source: ImageSource) {
        guard let id = try? place(of: source).id else { return }
        cache.remove(id)
        failures[id] = nil
        flights[id]?.reasonNotToCache = CloakroomError(.cancelled, "the image was removed while it was loaded")
    }

    /// Removes images whose messages have all ended, and ends requests for them. A message that names one of them again
    /// lets it be loaded again.
    public func remove(objectKeys: [String]) {
        for key in objectKeys { removeEnded(Place.id(ofObject: key)) }
    }

    /// Removes images whose objects were released: they are not shown any more, from whichever of ``AssetBaseURLs`` they
    /// could still be had.
    public func discard(objectKeys: [String]) {
        for key in objectKeys { discard(Place.id(ofObject: key)) }
    }

    /// For signing out: removes all that is cached, and ends the calls that are on their way with
    /// ``CloakroomError/Code/cancelled``. Later calls cache again.
    public func removeAll() {
        generation += 1
        for id in Array(flights.keys) { end(id, with: .failure(.cancelled)) }
        failures = [:]
        cache.removeAll()
    }

    /// The same for good: later calls cache nothing.
    func close() {
        removeAll()
        cache.close()
    }

    /// How many bytes are cached.
    public var cachedBytes: Int64 { cache.byteCount }

    /// How many callers wait for an image.
    func waiterCount(for source: ImageSource) throws -> Int { flights[try place(of: source).id]?.waiters.count ?? 0 }

    // MARK: Loading

    private func load(_ source: ImageSource) async throws(CloakroomError) -> Loaded {
        let place = try place(of: source)
        try await checkIsShown(place, until: source.expiration)
        if Task.isCancelled { throw .cancelled }
        if let failure = failures[place.id] {
            if runtime.now() < failure.end { throw failure.error }
            failures[place.id] = nil
        }
        if flights[place.id] == nil { start(place, until: source.expiration) }
        let loaded = try await join(place.id)
        // Another caller may have begun it without knowing the end.
        cache.noteUse(place.id, expiration: source.expiration, now: runtime.wallClock())
        return loaded.relocated(to: cache[place.id].map { cache.folder.url.appendingPathComponent($0.fileName) })
    }

    private func checkIsShown(_ place: Place, until expiration: Date?) async throws(CloakroomError) {
        let generation = generation
        let serverTime = await serverClock?.current
        try check(generation)
        let now = serverTime ?? runtime.wallClock()
        if let image = cache[place.id], image.hasEnded(at: now) {
            if serverTime != nil { cache.noteEnd(place.id.ending(at: image.end), now: now) }
            cache.remove(place.id)
        }
        // It says when its own message's image ends, and hides the same image from no other.
        if let expiration {
            let id = place.id.ending(at: CachedImage.seconds(expiration))
            // A device's clock that is ahead will be set right, and the image is shown again.
            if let serverTime, expiration <= serverTime { cache.noteEnd(id, now: now) }
            if expiration <= now || cache.hasEnded(id) { throw Self.ended }
        }
        if !cache.isDiscarded(place.id) {
            let isEnded = try await isEnded(place)
            try check(generation)
            if isEnded {
                removeEnded(place.id)
                throw Self.ended
            }
        }
        // It may have been discarded during that look.
        if cache.isDiscarded(place.id) { throw Self.ended }
    }

    /// To be called after each suspension: nothing that comes later is of what was removed.
    private func check(_ generation: Int) throws(CloakroomError) {
        guard generation == self.generation else { throw .cancelled }
    }

    private func isEnded(_ place: Place) async throws(CloakroomError) -> Bool {
        guard let hasEnded, let key = place.key else { return false }
        do { return try await hasEnded(key) } catch {
            throw CloakroomError(of: error, otherwise: .storeFailed, "whether an image has ended is not known")
        }
    }

    private func removeEnded(_ id: ImageID) {
        cache.remove(id)
        end(id, with: .failure(Self.ended))
    }

    private func discard(_ id: ImageID) {
        cache.discard(id, now: runtime.wallClock())
        end(id, with: .failure(Self.ended))
    }

    private static let ended = CloakroomError(.noSuchObject, "the image has ended, and is not shown any more")

    private func start(_ place: Place, until expiration: Date?) {
        lastNumber += 1
        let number = lastNumber
        flights[place.id] = Flight(number: number)
        flights[place.id]?.task = runtime.spawn { await self.run(number, place, until: expiration) }
    }

    private func run(_ number: UInt64, _ place: Place, until expiration: Date?) async {
        if let data = await cached(place), isCurrent(number, place.id), let image = cache[place.id] {
            return end(
                place.id, with: .success(Loaded(data: data, file: .success(url(of: image)))))
        }
        guard isCurrent(number, place.id) else { return }
        do {
            let data = try await fetch(place)
            // It can have ended since the first look; from now on a removal ends this request.
            if try await isEnded(place) { return removeEnded(place.id) }
            let file = await store(data, number, place, until: expiration)
            guard isCurrent(number, place.id) else { return }
            end(place.id, with: .success(Loaded(data: data, file: file)))
        } catch {
            guard isCurrent(number, place.id) else { return }
            let error = CloakroomError(of: error)
            remember(error, place.id)
            end(place.id, with: .failure(error))
        }
    }

    private func isCurrent(_ number: UInt64, _ id: ImageID) -> Bool { flights[id]?.number == number }

    private func url(of image: CachedImage) -> URL { cache.folder.url.appendingPathComponent(image.fileName) }

    /// - Returns: `nil` without an image in the cache that can be read. A damaged one is removed; one that cannot be opened
    ///   now stays, and nothing takes its place.
    private func cached(_ place: Place) async -> Data? {
        guard let image = cache[place.id] else { return nil }
        do throws(CloakroomError) {
            if let bytes = try await Self.read(image, in: cache.folder, md5: place.md5) { return bytes }
            if cache[place.id] == image { cache.remove(place.id) }
        } catch {
            flights[place.id]?.reasonNotToCache = error
        }
        return nil
    }

    @concurrent private static func read(
        _ image: CachedImage, in folder: ImageCacheFolder, md5: String?
    ) async throws(CloakroomError) -> Data? {
        guard md5 == nil || md5 == image.digest else { return nil }
        guard let bytes = try folder.read(image.fileName, byteCount: image.byteCount), image.matches(bytes) else {
            return nil
        }
        return Data(bytes)
    }

    private func store(
        _ data: Data, _ number: UInt64, _ place: Place, until expiration: Date?
    ) async -> Result<URL, CloakroomError> {
        guard Int64(data.count) <= settings.maximumCacheBytes, !data.isEmpty else {
            return .failure(CloakroomError(.bodyTooLarge, "the image has \(data.count) bytes, and is not cached"))
        }
        if cache.isClosed {
            return .failure(CloakroomError(.cancelled, "the user has signed out, and nothing is cached"))
        }
        if let reason = flights[place.id]?.reasonNotToCache { return .failure(reason) }
        do {
            let (image, temporary) = try await Self.write(
                data, as: place, until: expiration, in: cache.folder)
            let now = await serverClock?.current ?? runtime.wallClock()
            guard isCurrent(number, place.id), flights[place.id]?.reasonNotToCache == nil else {
                cache.folder.remove(temporary)
                return .failure(
                    flights[place.id]?.reasonNotToCache ?? CloakroomError(.cancelled, "the request has ended"))
            }
            try cache.add(image, from: temporary, now: now)
            return .success(url(of: image))
        } catch {
            return .failure(CloakroomError(of: error))
        }
    }

    @concurrent private static func write(
        _ data: Data, as place: Place, until expiration: Date?, in folder: ImageCacheFolder
    ) async throws(CloakroomError) -> (CachedImage, temporary: String) {
        let bytes = Array(data)
        let image = CachedImage(
            id: place.id, digest: place.digest(of: bytes), byteCount: Int64(bytes.count), expiration: expiration)
        return (image, try folder.write(bytes))
    }

    /// A refusal is not repeated at once by each cell of a list that shows the image.
    private func remember(_ error: CloakroomError, _ id: ImageID) {
        guard [.noSuchObject, .accessDenied, .archived, .bodyTooLarge].contains(error.code) else { return }
        let now = runtime.now()
        if failures.count >= 1000 { failures = failures.filter { $0.value.end > now } }
        if failures.count >= 1000 { failures = [:] }
        failures[id] = Failure(end: now + settings.failureInterval, error: error)
    }

    // MARK: Waiting

    private func join(_ id: ImageID) async throws(CloakroomError) -> Loaded {
        lastNumber += 1
        let number = lastNumber
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { flights[id]?.waiters[number] = $0 }
        } onCancel: {
            _ = runtime.spawn { await self.leave(id, number) }
        }
        return try outcome.get()
    }

    /// The last one to leave ends the request.
    private func leave(_ id: ImageID, _ number: UInt64) {
        guard let waiter = flights[id]?.waiters.removeValue(forKey: number) else { return }
        waiter.resume(returning: .failure(.cancelled))
        if flights[id]?.waiters.isEmpty == true { end(id, with: .failure(.cancelled)) }
    }

    private func end(_ id: ImageID, with outcome: Outcome) {
        guard let flight = flights.removeValue(forKey: id) else { return }
        if case .failure = outcome { flight.task?.cancel() }
        for waiter in flight.waiters.values { waiter.resume(returning: outcome) }
    }
}

extension ImageLoader.Loaded {
    /// - Parameter file: where it is now; `nil` when it is not cached any more.
    fileprivate func relocated(to file: URL?) -> Self { file.map { Self(data: data, file: .success($0)) } ?? self }
}
