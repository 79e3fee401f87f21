import Foundation

extension Cloakroom {
    /// Ends what was made of this, and forgets the credentials and the images that were shown: see <doc:SigningOut>.
    ///
    /// ``Outbox/unsent()`` says beforehand what there is to decide about. Call this while the user's token is still valid, and
    /// remove the token afterwards. What is kept waits for the same user at the same endpoint. Backups that are in progress
    /// are the app's own tasks: cancel them first. Afterwards this value sends nothing any more, whoever signs in next: neither
    /// its schedule and renewals nor anything that needs credentials.
    ///
    /// - Parameter carrier: that of the queue, where this launch has not opened it: it ends what the system is sending.
    /// - Returns: when nothing is sent any more, and what became of the queue of uploads.
    /// - Throws: ``CloakroomError`` when what was unsent could not be read or removed. All the rest is done then, too.
    @discardableResult
    public func signOut(
        _ unsent: OutboxSignOut, carrier: (any TransferCarrier)? = nil
    ) async throws -> OutboxSignOutReport {
        let parts = open.take()
        await schedule.close()
        for renewals in parts.renewals { await renewals.close() }
        let report: Result<OutboxSignOutReport, any Error>
        do {
            report = .success(try await outboxToEnd(parts.outbox, carrier)?.signOut(unsent) ?? OutboxSignOutReport())
        } catch {
            report = .failure(error)
        }
        // Before the images: nothing loads another one afterwards.
        await credentials.close()
        for images in parts.images { await images.removeAll() }
        return try report.get()
    }

    /// - Returns: `nil` for an app without one.
    private func outboxToEnd(_ open: Outbox?, _ carrier: (any TransferCarrier)?) throws -> Outbox? {
        if let open { return open }
        return FileManager.default.fileExists(atPath: outboxFolder.path) ? try outbox(carrier: carrier) : nil
    }
}
