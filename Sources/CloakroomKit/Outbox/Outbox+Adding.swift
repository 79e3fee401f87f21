public import Foundation

extension Outbox {
    /// Adds a photo, which goes to ``PhotoLayout/photo(md5:)``.
    ///
    /// - Parameters:
    ///   - file: copied; where the file system can do that, the copy shares its blocks.
    ///   - contentType: of the object.
    /// - Returns: when the photo is on the disk: from now on it is the outbox's own, and in backups of the device until it is
    ///   sent. The item that has the same bytes already, if one does; one that has failed stays so.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile``, also when the file changes meanwhile,
    ///   ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``; nothing was added then.
    @discardableResult
    public func add(
        photo file: URL, contentType: String = "application/octet-stream", priority: OutboxPriority = .normal
    ) async throws -> OutboxItem.ID {
        try ObjectFields.check(contentType: contentType, metadata: [:])
        let id = try newID()
        let copy = try await folder.copy(file, as: id, of: .photo)
        let format = file.pathExtension.lowercased()
        let row = OutboxRow(
            id: id, kind: .photo, identity: copy.md5, priority: priority.rawValue, added: now, file: copy,
            contentType: contentType, format: OriginalFormat.isValid(format) ? format : nil)
        return try await insert(row)
    }

    /// Adds an asset, which goes where the worker says; ``uploadedAssets()`` has its URL afterwards.
    ///
    /// - Parameters:
    ///   - content: of the whole of a file, or bytes.
    ///   - reference: the app's own name for it, 1 to 255 bytes, such as the message's; adding it again with the same bytes
    ///     is the same item, until it was acknowledged.
    ///   - isChatImage: whether it is to have a release token.
    /// - Returns: when the asset is on the disk: from now on it is the outbox's own. It is in no backup of the device.
    /// - Throws: ``CloakroomError``: as for a photo; ``CloakroomError/Code/invalidRequest`` for a reference that an asset
    ///   with other bytes has.
    @discardableResult
    public func add(
        asset content: UploadContent, reference: String, isChatImage: Bool = false, priority: OutboxPriority = .normal
    ) async throws -> OutboxItem.ID {
        guard (1...255).contains(reference.utf8.count) else {
            throw CloakroomError(.invalidRequest, "a reference has 1 to 255 bytes")
        }
        try ObjectFields.check(contentType: content.contentType, metadata: [:])
        let id = try newID()
        let copy = try await self.copy(content.body, as: id)
        let row = OutboxRow(
            id: id, kind: .asset, identity: reference, priority: priority.rawValue, added: now, file: copy,
            contentType: content.contentType, isChatImage: isChatImage)
        return try await insert(row)
    }

    private func copy(_ body: HTTPBody, as id: String) async throws -> OutboxFile {
        switch body {
        case .none: return try await folder.write(Data(), as: id, of: .asset)
        case .bytes(let data): return try await folder.write(data, as: id, of: .asset)
        case .file(let url, let range):
            let copy = try await folder.copy(url, as: id, of: .asset)
            guard range == 0..<copy.byteCount else {
                folder.remove(id)
                throw CloakroomError(.invalidRequest, "an asset is the whole of a file")
            }
            return copy
        }
    }

    private func newID() throws(CloakroomError) -> String {
        guard isOpen else { throw Self.signedOut }
        return UUID().uuidString.lowercased()
    }

    private func insert(_ row: OutboxRow) async throws -> OutboxItem.ID {
        await onStep(.copied)
        do {
            if let known = try await merge(row) { return known }
            try folder.writeRecord(row)
        } catch {
            folder.remove(row.id)
            throw error
        }
        await onStep(.recorded)
        do {
            if let known = try await merge(row) { return known }
            try store.insert(row)
        } catch {
            folder.remove(row.id)
            throw error
        }
        await onStep(.added)
        changed()
        return row.itemID
    }

    /// - Returns: the item that is the same; `nil` when there is none.
    private func merge(_ row: OutboxRow) async throws -> OutboxItem.ID? {
        try checkOpen()
        while let known = try store.row(row.kind, identity: row.identity) {
            guard row.file.md5 == known.file.md5, row.file.byteCount == known.file.byteCount else {
                throw CloakroomError(.invalidRequest, "another asset has the reference \(row.identity)")
            }
            guard known.state != .uploaded, !folder.isUnchanged(known) || known.error?.code == .unreadableFile else {
                folder.remove(row.id)
                return known.itemID
            }
            guard isUnderWay(known.id) else { return try repair(known, with: row) }
            // Its copy is no good, and what is sent of it would be refused.
            hold(known.id)
            defer { endHold(known.id) }
            await cancel([known.id])
            try checkOpen()
            guard let now = try store.row(id: known.id), now.state != .uploaded else { continue }
            return try repair(now, with: row)
        }
        return nil
    }

    private func repair(_ known: OutboxRow, with row: OutboxRow) throws(CloakroomError) -> OutboxItem.ID {
        // This copy takes the place of the one that cannot be sent.
        var repaired = known
        repaired.file = row.file
        (repaired.state, repaired.failures, repaired.error, repaired.notBefore) = (.waiting, 0, nil, nil)
        try folder.move(row.id, to: known.id)
        try folder.writeRecord(repaired)
        try store.update(repaired)
        changed()
        return known.itemID
    }

    /// Seconds since 1970.
    var now: Double { runtime.wallClock().timeIntervalSince1970 }
}
