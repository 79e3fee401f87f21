import CloakroomAWS
import Foundation

/// A file whose bytes come by callbacks, such as from PhotoKit.
enum DeliveredFile {
    /// Called with the next bytes, or with none where others have arrived that come later.
    typealias Receive = @Sendable (Data) -> Void
    /// Called once, when all bytes have come or an error has ended the delivery.
    typealias End = @Sendable ((any Error)?) -> Void

    /// For how long a delivery may make no progress.
    static let idleTimeout = Duration.seconds(300)
    /// It is looked at so often meanwhile, and each look counts as one, however long the process was suspended before it.
    private static let looks = 10

    /// Writes what is delivered, until the end; a cancelled task does not wait for it.
    ///
    /// - Parameters:
    ///   - url: where no file is.
    ///   - begin: begins the delivery, and returns what cancels it.
    /// - Throws: what ended the delivery, ``CloakroomError/Code/timedOut`` when it makes no progress,
    ///   ``CloakroomError/Code/diskFull`` and ``CloakroomError/Code/unwritableFile``, and `CancellationError`. The file may have
    ///   some of the bytes then.
    static func write(
        to url: URL, runtime: RuntimeDependencies = RuntimeDependencies(),
        _ begin: (_ receive: @escaping Receive, _ end: @escaping End) -> () -> Void
    ) async throws {
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw CloakroomError.file("making", url)
        }
        let file = try TransportFile(writing: url)
        let byteCount = Locked(Int64(0))
        let progress = Locked(0)
        let (delivery, ending) = AsyncThrowingStream<Void, any Error>.makeStream()
        let receive: Receive = { bytes in
            progress.withLock { $0 += 1 }
            do {
                try byteCount.withLock { count in
                    try bytes.withUnsafeBytes { try file.write($0, at: count) }
                    count += Int64(bytes.count)
                }
            } catch {
                ending.finish(throwing: error)
            }
        }
        let cancel = begin(receive) { ending.finish(throwing: $0) }
        let watch = Task {
            var (seen, idleLooks) = (0, 0)
            while idleLooks < looks {
                try await runtime.sleep(idleTimeout / looks)
                let now = progress.withLock { $0 }
                idleLooks = now == seen ? idleLooks + 1 : 0
                seen = now
            }
            ending.finish(throwing: CloakroomError(.timedOut, "nothing more came of \(url.lastPathComponent)"))
        }
        defer { watch.cancel() }
        do {
            for try await _ in delivery {}
            try Task.checkCancellation()
        } catch {
            cancel()
            throw error
        }
    }
}

extension CloakroomError {
    /// Why a photo could not be exported, by the errors of PhotoKit, of Foundation and of the system.
    ///
    /// Numbers and not names, for what imports no PhotoKit: `PHPhotosError.Code`, `CocoaError.Code`, errno(3).
    init(exporting name: String, _ error: any Error) {
        self.init(Self.code(ofExport: error), "\(name) cannot be exported: \(error)")
    }

    private static func code(ofExport error: any Error) -> Code {
        switch error {
        case let error as CloakroomError: return error.code
        case is CancellationError: return .cancelled
        case HTTPTransportError.unwritableFile(isFull: true): return .diskFull
        case is HTTPTransportError: return .unwritableFile
        default: break
        }
        let system = error as NSError
        switch (system.domain, system.code) {
        // userCancelled
        case ("PHPhotosErrorDomain", 3072), (NSCocoaErrorDomain, 3072), (NSURLErrorDomain, -999): return .cancelled
        // networkAccessRequired, networkError
        case ("PHPhotosErrorDomain", 3164), ("PHPhotosErrorDomain", 3169), (NSURLErrorDomain, _): return .unreachable
        // accessRestricted, accessUserDenied
        case ("PHPhotosErrorDomain", 3310), ("PHPhotosErrorDomain", 3311): return .photosNotAllowed
        // notEnoughSpace, fileWriteOutOfSpace
        case ("PHPhotosErrorDomain", 3305), (NSCocoaErrorDomain, 640), (NSPOSIXErrorDomain, Int(ENOSPC)),
            (NSPOSIXErrorDomain, Int(EDQUOT)):
            return .diskFull
        default: break
        }
        guard let cause = system.userInfo[NSUnderlyingErrorKey] as? any Error else { return .unreadableFile }
        return code(ofExport: cause)
    }
}
