#if os(Linux)
    import CloakroomKit
    package import Foundation

    /// Makes thumbnails with libvips' command line, `vipsthumbnail` (Debian: `libvips-tools`), a process for each photo.
    ///
    /// For programs on Linux, such as tests, samples and benchmarks. It reads JPEG, PNG, GIF, WebP, TIFF, HEIC and AVIF;
    /// of an animation the first picture, of a truncated file the part that is there. Nothing of the photo's metadata
    /// is in the thumbnail; its colors are in sRGB.
    package struct VipsThumbnailer: Thumbnailer {
        /// What one photo may cost; one that needs more has no thumbnail.
        package struct Limits: Sendable {
            package var time: Duration
            /// In bytes of address space; libvips without a photo needs about 200 MB of it.
            package var memory: Int

            package init(time: Duration = .seconds(20), memory: Int = 1 << 30) {
                self.time = time
                self.memory = memory
            }
        }

        private let program: URL
        private let limits: Limits
        private let programs: LimitedPrograms

        /// - Parameter concurrency: how many processes there are at once; more calls wait.
        package init(
            program: URL = URL(fileURLWithPath: "/usr/bin/vipsthumbnail"), limits: Limits = Limits(),
            concurrency: Int = 2
        ) {
            self.program = program
            self.limits = limits
            programs = LimitedPrograms(concurrency: concurrency)
        }

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when there is no picture in the file, or
        ///   one that needs more memory than it may have, ``CloakroomError/Code/timedOut``,
        ///   ``CloakroomError/Code/cancelled``, ``CloakroomError/Code/unavailable`` when the program cannot be started.
        package func thumbnail(of file: URL, maximumPixelSize: Int) async throws -> Thumbnail {
            let size = min(max(maximumPixelSize, 1), 4096)
            let first = try await firstPicture(of: file, size)
            var result = first
            for quality in Self.qualities.dropFirst() where result.bytes.count > Thumbnail.maximumBytes {
                result = try await picture(of: try Self.handle(on: first.bytes), size, quality: quality, file)
            }
            var smaller = size / 2
            while result.bytes.count > Thumbnail.maximumBytes, smaller > 0 {
                result = try await picture(of: try Self.handle(on: first.bytes), smaller, quality: 60, file)
                smaller /= 2
            }
            guard result.bytes.count <= Thumbnail.maximumBytes else { throw Self.unreadable(file) }
            return result
        }

        /// Of JPEG. The later ones are made from the first result, not from the photo, which may take long to read.
        private static let qualities = [80, 60, 40, 20]

        /// Three colors without a profile are those of sRGB; libvips refuses that for grey and for CMYK, of which it has
        /// profiles itself.
        private func firstPicture(of file: URL, _ size: Int) async throws -> Thumbnail {
            let input = try Self.open(file)
            do {
                let profile = ["--import-profile", "srgb"]
                return try await picture(of: input, size, quality: Self.qualities[0], file, profile)
            } catch let error as CloakroomError where error.code == .unreadableFile {
                try input.seek(toOffset: 0)
                return try await picture(of: input, size, quality: Self.qualities[0], file)
            }
        }

        /// - Parameter input: from where it is; the program never sees a name.
        private func picture(
            of input: FileHandle, _ size: Int, quality: Int, _ file: URL, _ options: [String] = []
        ) async throws -> Thumbnail {
            let output = try Self.temporaryFile()
            try await programs.run(
                program,
                // All are turned upright; smaller ones keep their size.
                ["stdin", "--size", "\(size)x\(size)>", "--export-profile", "srgb"] + options
                    + ["--output", ".jpg[Q=\(quality),strip,optimize_coding,background=255]"],
                input: input, output: output, limits, of: file.lastPathComponent)
            try output.seek(toOffset: 0)
            let bytes = try output.read(upToCount: LimitedPrograms.maximumOutputBytes) ?? Data()
            guard let dimensions = JPEGDimensions(of: bytes), max(dimensions.width, dimensions.height) <= size else {
                throw Self.unreadable(file)
            }
            return Thumbnail(bytes: bytes, width: dimensions.width, height: dimensions.height)
        }

        /// Only those that libvips' own loaders read, which are tested against hostile files.
        private static let formats: Set = ["jpg", "png", "gif", "webp", "tif", "heic", "heif", "avif"]

        private static func open(_ file: URL) throws -> FileHandle {
            // Not one that has no end, or that waits for a writer.
            let kind = try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
            guard kind?.isRegularFile == true, let handle = try? FileHandle(forReadingFrom: file),
                let head = try? handle.read(upToCount: PhotoFormat.headByteCount),
                formats.contains(PhotoFormat.sniff(head))
            else { throw unreadable(file) }
            try handle.seek(toOffset: 0)
            return handle
        }

        private static func handle(on bytes: Data) throws -> FileHandle {
            let handle = try temporaryFile()
            try handle.write(contentsOf: bytes)
            try handle.seek(toOffset: 0)
            return handle
        }

        /// For this user alone, and gone with its handle.
        private static func temporaryFile() throws -> FileHandle {
            let file = FileManager.default.temporaryDirectory
                .appendingPathComponent("thumbnail-\(UUID().uuidString)", isDirectory: false)
            let descriptor = Foundation.open(file.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw CloakroomError.file("make", file) }
            unlink(file.path)
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }

        private static func unreadable(_ file: URL) -> CloakroomError {
            LimitedPrograms.unreadable(file.lastPathComponent)
        }
    }
#endif
