import CloakroomCrypto
public import Foundation

/// Restores a user's photos from S3: each as `{md5}.{original format}`, checked against the MD5 in its key.
///
/// What is in the folder already with the right bytes is not fetched again, and a large photo continues where the last
/// run stopped. A file with other bytes is kept, since it may be the user's edit; the photo is restored beside it, as
/// `{md5}.2.{original format}`.
public struct PhotoRestore: Sendable {
    let client: S3BackupClient
    let layout: PhotoLayout
    /// Photos under way at once.
    private let photosAtOnce = 8
    /// After so many failures in a row that are not of one photo, the run ends.
    private let maximumConsecutiveFailures = 8

    public init(client: S3BackupClient, layout: PhotoLayout) {
        self.client = client
        self.layout = layout
    }

    /// - Parameter folder: made when it is not there.
    /// - Returns: what came of it, also of a run that failed or was cancelled.
    public func restore(to folder: URL, progress: BackupProgress.Observer? = nil) async -> RestoreReport {
        let run: RestoreRun
        do {
            let photos = try await photos(for: folder)
            run = RestoreRun(photos, maximumConsecutiveFailures: maximumConsecutiveFailures, observer: progress)
        } catch {
            return RestoreReport(stoppedBy: CloakroomError(of: error))
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<photosAtOnce { group.addTask { await work(run, folder) } }
            for await _ in group where await run.isStopped { group.cancelAll() }
        }
        return await run.finish()
    }

    /// One photo, and where it may be already.
    struct Photo: Sendable {
        let key: String
        let md5: String
        /// -1 where the listing has no readable one.
        let byteCount: Int64
        let candidates: [String]
    }

    /// Reads the folder off the caller's actor, which may be the main one.
    @concurrent private func photos(for folder: URL) async throws -> [Photo] {
        do { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) } catch {
            throw CloakroomError(.unwritableFile, "\(folder.path) cannot be made")
        }
        var there: [String: [String]] = [:]
        for file in try FolderWalk().files(in: folder.path).files {
            let name = URL(fileURLWithPath: file.path).lastPathComponent.prefix { $0 != "." }
            there[String(name), default: []].append(file.path)
        }
        var photos: [Photo] = []
        for try await object in client.list(prefix: layout.photos) {
            guard let md5 = layout.md5(ofPhoto: object.key) else { continue }
            photos.append(Photo(key: object.key, md5: md5, byteCount: object.byteCount, candidates: there[md5] ?? []))
        }
        return photos
    }

    private func work(_ run: RestoreRun, _ folder: URL) async {
        while let photo = await run.next() {
            do {
                if try await isThere(photo) {
                    unlink(Self.hiddenURL(of: photo, in: folder).path)
                    await run.settle(photo, downloaded: nil)
                } else {
                    await run.settle(photo, downloaded: try await fetch(photo, to: folder))
                }
            } catch {
                await run.fail(photo, CloakroomError(of: error))
            }
        }
    }

    /// By its bytes: its name anybody can give.
    private func isThere(_ photo: Photo) async throws -> Bool {
        for path in photo.candidates where try await hasBytes(of: photo, URL(fileURLWithPath: path)) { return true }
        return false
    }

    private func hasBytes(of photo: Photo, _ url: URL) async throws -> Bool {
        guard let file = try? UploadFile(url), photo.byteCount < 0 || file.byteCount == photo.byteCount else {
            return false
        }
        return try await file.md5(0..<file.byteCount).hexadecimal == photo.md5
    }

    /// Downloads a photo under a hidden name, and gives it its own when it is whole: its format comes with its bytes.
    ///
    /// - Returns: how many bytes came.
    private func fetch(_ photo: Photo, to folder: URL) async throws -> Int64 {
        let hidden = Self.hiddenURL(of: photo, in: folder)
        // Of a run that ended before the photo had its name.
        if (try? FileStamp(path: hidden.path)) != nil, try await hasBytes(of: photo, hidden),
            let known = try await client.head(photo.key)
        {
            try Self.move(hidden, to: folder, photo, known)
            return 0
        }
        let info = try await client.download(
            photo.key, to: hidden, md5: PhotoDigest(hexadecimal: photo.md5)?.bytes)
        try Self.move(hidden, to: folder, photo, info)
        return info.byteCount
    }

    /// Where a photo lies until it has its name; no candidate, because it is hidden.
    private static func hiddenURL(of photo: Photo, in folder: URL) -> URL {
        folder.appendingPathComponent(".cloakroom-\(photo.md5).dat")
    }

    /// Gives a file the first name that no other file has.
    private static func move(
        _ file: URL, to folder: URL, _ photo: Photo, _ info: ObjectInfo
    ) throws(CloakroomError) {
        let known = info.metadata[OriginalFormat.field] ?? ""
        let format = OriginalFormat.isValid(known) ? known : "dat"
        var name = "\(photo.md5).\(format)"
        var number = 1
        while true {
            let path = folder.appendingPathComponent(name).path
            // A rename would replace a file that is made at this moment.
            if link(file.path, path) == 0 {
                unlink(file.path)
                return
            }
            let isTaken = errno == EEXIST
            var status = stat()
            // Some file systems have no hard links, such as exFAT.
            if !isTaken, lstat(path, &status) != 0 {
                guard rename(file.path, path) == 0 else {
                    throw CloakroomError(.unwritableFile, "\(path): \(String(cString: strerror(errno)))")
                }
                return
            }
            number += 1
            name = "\(photo.md5).\(number).\(format)"
        }
    }
}
