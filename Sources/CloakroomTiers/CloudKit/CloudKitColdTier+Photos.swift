import CloakroomCrypto
public import CloakroomKit
public import Foundation

extension CloudKitColdTier {
    public func put(_ file: URL, _ photo: PhotoDescriptor, progress: TransferProgress.Observer?) async throws {
        let name = Self.name(of: photo)
        try await converting("storing \(name)") {
            let content = try await PhotoContent(of: file)
            try content.checkIs(photo, name)
            if let record = try await record(of: photo) {
                return try Self.check(record, is: photo.with(content))
            }
            let record = CloudRecord(
                kind: .photo, name: name, byteCount: content.byteCount, sha256: Data(content.sha256),
                format: photo.format, asset: file)
            do {
                try await database.save(
                    record, in: database.photoZone, policy: .ifUnchanged,
                    progress: Self.steps(of: photo.byteCount, progress))
            } catch CloudFault.recordChanged(let server) {
                // Another device was faster, or the response to an earlier attempt was lost.
                var found = server
                if found == nil { found = try await self.record(of: photo) }
                guard let found else { throw CloudFault.responseLost }
                try Self.check(found, is: photo.with(content))
            }
        }
        progress?(TransferProgress(bytesDone: photo.byteCount, bytesTotal: photo.byteCount))
    }

    public func verify(_ photo: PhotoDescriptor, file: URL?) async throws -> ColdProof? {
        let name = Self.name(of: photo)
        return try await converting("verifying \(name)") {
            guard let record = try await record(of: photo) else { return nil }
            try Self.check(record, is: photo)
            guard let tag = record.changeTag else { throw CloudFault.other(code: 1) }
            guard tag == photo.provenTag else { return try await readBack(photo) }
            return try await proof(of: photo, tag: tag)
        }
    }

    /// What CloudKit does not say of an asset, its bytes say.
    private func readBack(_ photo: PhotoDescriptor) async throws -> ColdProof? {
        try await withScratchFile { scratch in
            let downloaded = try await ifPresent(in: database.photoZone, wasProven: true) {
                try await database.download(Self.name(of: photo), in: database.photoZone, to: scratch)
            }
            guard let record = downloaded else { return nil }
            try Self.check(record, is: photo)
            let content = try await PhotoContent(of: scratch)
            let isPhoto = content.isOf(photo) && record.sha256.map { Array($0) == content.sha256 } ?? false
            guard isPhoto else { throw Self.collision(photo, "other bytes") }
            // Of the record that was downloaded: one that was written to in between has to be read again.
            guard let tag = record.changeTag else { throw CloudFault.other(code: 1) }
            return try await proof(of: photo, tag: tag)
        }
    }

    private func proof(of photo: PhotoDescriptor, tag: String) async throws -> ColdProof {
        ColdProof(
            identity: TierIdentity(name(of: try await database.user())), key: Self.name(of: photo), tag: tag,
            date: await database.session.serverNow)
    }

    public func fetch(_ photo: PhotoDescriptor, to file: URL, progress: TransferProgress.Observer?) async throws {
        let name = Self.name(of: photo)
        try await converting("fetching \(name)") {
            let partial = FetchedFile(of: file)
            // An earlier fetch may have ended between its last byte and its last step.
            let earlier = try? await PhotoContent(of: partial.url)
            if let earlier, earlier.isOf(photo) { return try partial.finish() }
            let record = try await ifPresent(in: database.photoZone, wasProven: photo.provenTag != nil) {
                try await database.download(
                    name, in: database.photoZone, to: partial.url, progress: Self.steps(of: photo.byteCount, progress))
            }
            guard record != nil else { throw CloudFault.unknownItem }
            guard try await PhotoContent(of: partial.url).isOf(photo) else {
                partial.discard()
                throw CloakroomError(.checksumMismatch, "fetching \(name): the bytes are not those of the photo")
            }
            try partial.finish()
        }
        progress?(TransferProgress(bytesDone: photo.byteCount, bytesTotal: photo.byteCount))
    }

    public func delete(_ photo: PhotoDescriptor) async throws { try await delete(Self.name(of: photo)) }

    func delete(_ name: String) async throws {
        try await converting("deleting \(name)") {
            _ = try await ifPresent(in: database.photoZone) { try await database.delete(name) }
        }
    }

    public func list() -> AsyncThrowingStream<ColdObject, any Error> {
        let listing = CloudPhotoListing(self)
        return AsyncThrowingStream { try await listing.next() }
    }

    /// `nil` when there is none, as CloudKit itself says.
    private func record(of photo: PhotoDescriptor) async throws -> CloudRecord? {
        try await ifPresent(in: database.photoZone, wasProven: photo.provenTag != nil) {
            try await database.fetch(Self.name(of: photo))
        }
    }

    /// - Throws: ``CloakroomError/Code/photoCollision``.
    private static func check(_ record: CloudRecord, is photo: PhotoDescriptor) throws {
        guard record.byteCount == photo.byteCount else { throw collision(photo, "another size") }
        guard let expected = photo.sha256 else { return }
        guard let sha256 = record.sha256, Array(sha256) == expected else { throw collision(photo, "another SHA-256") }
    }

    private static func collision(_ photo: PhotoDescriptor, _ what: String) -> CloakroomError {
        CloakroomError(.photoCollision, "\(name(of: photo)) is there with \(what)")
    }

    static func name(of photo: PhotoDescriptor) -> String { "photo-\(photo.md5.hexadecimal)" }

    /// The last byte is not done before it is known to be right.
    private static func steps(
        of byteCount: Int64, _ observer: TransferProgress.Observer?
    ) -> @Sendable (Double) -> Void {
        { fraction in
            guard (0..<1).contains(fraction) else { return }
            observer?(TransferProgress(bytesDone: Int64(Double(byteCount) * fraction), bytesTotal: byteCount))
        }
    }
}

extension PhotoDescriptor {
    fileprivate func with(_ content: PhotoContent) -> PhotoDescriptor {
        var photo = self
        photo.sha256 = content.sha256
        return photo
    }
}

extension PhotoContent {
    fileprivate func isOf(_ photo: PhotoDescriptor) -> Bool {
        md5 == photo.md5 && byteCount == photo.byteCount && (photo.sha256.map { $0 == sha256 } ?? true)
    }

    /// A damaged file never gets the name of a good one.
    fileprivate func checkIs(_ photo: PhotoDescriptor, _ name: String) throws {
        guard isOf(photo) else { throw CloakroomError(.photoDamaged, "storing \(name): the file has other bytes") }
    }
}
