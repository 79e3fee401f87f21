import CloakroomKit
public import Foundation

extension MessageRetention {
    /// Removes all messages of a conversation from this device, and nothing at peers: images of this user's messages stay in
    /// the bucket until these end for the others, too.
    ///
    /// None is returned any more, and none can be opened, also when a handler fails or the disk is full.
    ///
    /// A deletion lasts when this returns, also when the process is killed on a full disk: it is noted with the keys then, in
    /// space that is kept for it. Only where there was none for that either, the purge that follows is
    /// ``PurgeReport/stoppedBy`` that error and a kill can undo it.
    ///
    /// - Returns: of the purge that follows; what it could not do, or write down, the next one does.
    @discardableResult
    public func deleteAll(in conversation: ConversationID) async throws -> PurgeReport {
        await storage.endNotes(await memory.close(conversation).map(\.reference))
        try await storage.deleteAll(in: conversation, now: runtime.now())
        wake()
        return try await purge()
    }

    /// Removes one message from this device, and nothing at peers, as ``deleteAll(in:)`` does: its image stays in the bucket
    /// until the message ends for the others, too. That of a message that is not to be stored is released at once. Replies to
    /// it stay.
    ///
    /// It is returned no more, and its key goes with the purge that follows, also when a handler fails. What else that key has
    /// sealed is sealed anew before: where messages have no end, all of the conversation.
    ///
    /// - Returns: of the purge that follows; what it could not do the next one does. Nothing else happens for a message that is
    ///   not here.
    /// - Throws: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``: the message is as it was.
    @discardableResult
    public func delete(_ message: MessageReference) async throws -> PurgeReport {
        if await memory.remove(message) {
            await storage.endNotes([message])
        } else {
            try await storage.delete(message)
        }
        wake()
        return try await purge()
    }

    /// Ends a conversation's messages that are in memory only; call it when the user leaves it. Their images are released, also
    /// when a peer has not shown them yet.
    ///
    /// - Throws: what a handler throws, or ``CloakroomError``: the messages have ended all the same, and the next purge does
    ///   the rest.
    public func close(_ conversation: ConversationID) async throws {
        await storage.endNotes(await memory.close(conversation).map(\.reference))
        wake()
        try await removeNotes()
    }

    /// Removes everything, keys first, also of what was damaged and moved aside, and has handlers remove what they have.
    /// Policies begin anew; peers and the bucket are not told.
    ///
    /// When the process ends meanwhile, the next launch completes it. A handler that throws does not stop it, and is not
    /// called again.
    ///
    /// - Throws: what a handler threw, when all is removed; ``CloakroomError``, such as
    ///   ``CloakroomError/Code/vaultLocked``, when it is not: repeat it.
    public func eraseEverything() async throws {
        currentPurge?.cancel()
        _ = await currentPurge?.result
        await memory.closeAll()
        let inMemory: [MessageReference]
        do { inMemory = try await storage.beginErasing() } catch {
            await memory.closeAll()
            throw error
        }
        // What was admitted since the first time; from now on nothing is.
        await memory.closeAll()
        try await finishErasing(inMemory)
    }

    /// - Parameter inMemory: messages whose names can no longer be read.
    func finishErasing(_ inMemory: [MessageReference] = []) async throws {
        var failure = await handlersFail(toRemove: inMemory)
        var sequence: Int64 = 0
        // Names of a database that cannot be read are no reason to keep it.
        while !handlers.isEmpty, let page = try? await storage.erasedReferences(after: sequence) {
            let next = await handlersFail(toRemove: page.messages)
            failure = failure ?? next
            sequence = page.last
        }
        try await storage.finishErasing(await read())
        wake()
        if let failure { throw failure }
    }

    /// - Returns: what the first of those that failed threw.
    private func handlersFail(toRemove messages: [MessageReference]) async -> (any Error)? {
        guard !messages.isEmpty else { return nil }
        var failure: (any Error)?
        for handler in handlers {
            do { try await handler.remove(messages) } catch { failure = failure ?? error }
        }
        return failure
    }

    // MARK: Time

    /// When the next message is over, the next key goes, or the next image is released; `nil` when there is nothing of that.
    ///
    /// For `BackgroundWork` and the like: there is nothing to do before.
    public func nextDeadline() async throws -> Date? {
        try await remaining().map { runtime.wallClock().addingTimeInterval(Double($0) / 1000) }
    }

    /// - Returns: at most a century.
    private func remaining() async throws -> Milliseconds? {
        let clock = try await self.clock()
        var next = [
            try await storage.remaining(clock.trusted), await memory.remaining(clock.trusted),
            try await storage.keysRemaining(now: runtime.now()),
        ]
        if clock.agreed < RetentionClock.agreement, try await storage.awaitsAgreement(clock) {
            next.append(RetentionClock.agreement.minus(clock.agreed))
        }
        next.append(try await storage.openPurgeRemaining(now: runtime.now()))
        next.append(await storage.pruningRemaining(clock))
        if releaser != nil { next.append(try await storage.releasesRemaining(now: clock.device)) }
        if await !storage.endedNotes.isEmpty { next.append(0) }
        if await !storage.unwrittenDeletions.isEmpty { next.append(0) }
        return next.compactMap { $0 }.min().map { min($0, 36_525 * .day) }
    }

    /// Purges whenever something is over, and releases images, until it is cancelled; while there is nothing to do, it
    /// sleeps. A response to any request of the `client` that says another time than was thought wakes it.
    ///
    /// Run it as long as the app is in the foreground. While it is in the background `BackgroundWork` with ``purge()``
    /// does the same.
    public func run() async {
        // Before the first look, so that no correction is missed.
        let corrections = timeCorrections?.changes()
        async let _: Void = wake(at: corrections)
        var failures = 0
        while !Task.isCancelled {
            let seen = changes
            var next: Milliseconds?
            do { next = try await remaining() } catch { failures = max(failures, 1) }
            if failures > 0 {
                // After a second, two, four, … a minute.
                await wait(.seconds(min(1 << min(failures - 1, 6), 60)), unless: nil)
            } else if next != 0 {
                await wait(next.map { .milliseconds($0) } ?? .seconds(36_525 * 86_400), unless: seen)
                continue
            }
            guard !Task.isCancelled else { return }
            failures = await hasPurged() ? 0 : failures + 1
        }
    }

    /// Sleeps end whenever the server's time is corrected: what they wait for may be over by now, or later.
    private func wake(at corrections: AsyncStream<Void>?) async {
        guard let corrections else { return }
        for await _ in corrections { wake() }
    }

    /// - Returns: whether there is no reason to repeat it at once.
    private func hasPurged() async -> Bool {
        let report = try? await purge()
        // What fails is recorded, with the time of its next attempt. A purge that is stopped stops no release.
        _ = try? await releaseAssets(retry: false)
        guard let report, report.stoppedBy == nil, !report.isCheckpointPending else { return false }
        // What is due and was not removed would have it repeated without end.
        let next = try? await remaining()
        return report.purgedCount > 0 || next != .some(0)
    }

    /// - Parameter seen: does not wait when something has changed since.
    private func wait(_ duration: Duration, unless seen: Int?) async {
        guard seen == nil || seen == changes else { return }
        let sleeping = Task { [runtime] in try await runtime.sleep(duration) }
        lastSleep += 1
        let number = lastSleep
        sleeps[number] = sleeping
        await withTaskCancellationHandler {
            _ = await sleeping.result
        } onCancel: {
            sleeping.cancel()
        }
        sleeps[number] = nil
    }
}
