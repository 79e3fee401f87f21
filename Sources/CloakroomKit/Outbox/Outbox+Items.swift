import Foundation

extension Outbox {
    /// All items, in the order in which they are sent.
    public func items() throws -> [OutboxItem] {
        try checkOpen()
        return try store.rows().map(item)
    }

    /// Those that are sent only when the app says so.
    public func failedItems() throws -> [OutboxItem] {
        try checkOpen()
        return try store.rows(.failed).map(item)
    }

    /// What a sign-out now would leave behind.
    ///
    /// Where an app has gone back to an earlier version for a time, there may be a second queue, which this does not
    /// count: ``Cloakroom/signOut(_:carrier:)`` ends both, and its report has both.
    public func unsent() throws -> UnsentWork {
        try checkOpen()
        return try store.unsent()
    }

    /// The assets that S3 has, until each is acknowledged: also those of earlier processes. A run renews them; one that has
    /// expired all the same is sent again.
    public func uploadedAssets() throws -> [OutboxAsset] {
        try checkOpen()
        return try store.rows(.uploaded).compactMap(\.asset)
    }

    /// The app has written down where an asset is: its bytes are removed, and renewing it is the app's from now on. Nothing
    /// happens for any other item.
    public func acknowledge(_ id: OutboxItem.ID) throws {
        try checkOpen()
        guard let row = try store.row(id: id.rawValue), row.state == .uploaded else { return }
        // Before its row, which needs room on a full disk to be removed.
        folder.remove(row.id)
        try store.remove([row.id])
        changed()
    }

    /// Sends an item at once, whatever it waits for, also one that has failed.
    ///
    /// - Returns: whether there is one to be sent.
    @discardableResult
    public func retry(_ id: OutboxItem.ID) throws -> Bool {
        try checkOpen()
        guard var row = try store.row(id: id.rawValue), row.state != .uploaded else { return false }
        // One that is being sent has its record written by that.
        guard !isUnderWay(row.id) else { return true }
        row.state = .waiting
        row.failures = 0
        row.error = nil
        row.notBefore = nil
        try store.update(row)
        changed()
        return true
    }

    /// Removes an item that has not been sent; one that is being sent is cancelled, and S3 may have it all the same.
    ///
    /// - Returns: `nil` when there is none, or S3 has it: an asset is removed by ``acknowledge(_:)``.
    @discardableResult
    public func remove(_ id: OutboxItem.ID) async throws -> OutboxItem? {
        try checkOpen()
        guard let found = try store.row(id: id.rawValue), found.state != .uploaded else { return nil }
        let before = item(found)
        // The run would begin again what is cancelled here.
        hold(found.id)
        defer { endHold(found.id) }
        await cancel([found.id])
        await cancelCarried("\(transferPrefix)\(found.id)/")
        try checkOpen()
        guard let row = try store.row(id: id.rawValue), row.state != .uploaded else { return nil }
        try store.remove([row.id])
        folder.remove(row.id)
        return before
    }

    func item(_ row: OutboxRow) -> OutboxItem { row.item(sent: transfers.sent[row.id]) }
}
