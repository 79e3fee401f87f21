import CloakroomCrypto
import CloakroomKit
import Foundation

extension MessageRetention {
    /// Counts what a migration would do, and changes nothing.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when the folder cannot be listed,
    ///   ``CloakroomError/Code/storeFailed``. A folder that is not there is empty.
    public func preview(of files: LegacyMessageFiles) async throws -> MessageMigrationPreview {
        var preview = MessageMigrationPreview(source: files)
        guard let folder = try LegacyFolder.existing(at: files.folder) else { return preview }
        let names = try folder.names()
        preview.unfinished = names.unfinished
        for name in names.files {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            do {
                preview.files.append(try await count(name, in: folder, files))
            } catch let fault as LegacyFileFault {
                preview.left.append(LegacyFileLeft(name: name, reason: fault.reason))
            }
        }
        return preview
    }

    /// Moves the messages that a preview has counted, file by file, each with the end that it had or that the policies
    /// say, whichever comes first; then the file is overwritten with zeros and removed.
    ///
    /// It can end or be killed anywhere: another preview and migration continue, and bring nothing twice. The older
    /// app's code must not write to the files meanwhile, and the policies of these conversations must not be changed.
    /// A message of a peer ends no sooner than ``RetentionLimits/minimumForPeers``.
    ///
    /// - Returns: also when it ended early.
    @discardableResult
    public func migrate(_ preview: MessageMigrationPreview) async -> MessageMigrationReport {
        var report = MessageMigrationReport()
        report.left = preview.left
        do {
            guard let folder = try LegacyFolder.existing(at: preview.source.folder) else { return report }
            for name in preview.unfinished {
                try folder.erase(name, step: preview.source.step)
                report.erasedFileCount += 1
            }
            for file in preview.files {
                do {
                    try await move(file, in: folder, preview.source, &report)
                } catch let fault as LegacyFileFault {
                    report.left.append(LegacyFileLeft(name: file.name, reason: fault.reason))
                }
            }
        } catch {
            report.stoppedBy = CloakroomError(of: error)
        }
        return report
    }

    private static let suffix = ".json"
    private static let messagesAtOnce = 256

    private func count(
        _ name: String, in folder: borrowing LegacyFolder, _ files: LegacyMessageFiles
    ) async throws -> MessageMigrationPreview.File {
        guard name.hasSuffix(Self.suffix) else { throw LegacyFileFault(.otherFile) }
        let bytes = try folder.read(name)
        guard let session = files.session(String(name.dropLast(Self.suffix.count))) else {
            throw LegacyFileFault(.unknownSession)
        }
        var content = Content()
        try await read(bytes, of: session, files.format) { content.add($0) }
        return MessageMigrationPreview.File(
            name: name, conversation: session.conversation, messageCount: content.liveCount,
            endedCount: content.endedCount, controlCount: content.controlCount, session: session,
            sha256: SHA256.hash(bytes))
    }

    private func move(
        _ file: MessageMigrationPreview.File, in folder: borrowing LegacyFolder, _ files: LegacyMessageFiles,
        _ report: inout MessageMigrationReport
    ) async throws {
        let bytes = try folder.read(file.name)
        guard SHA256.hash(bytes) == file.sha256 else { throw LegacyFileFault(.changed) }
        var content = Content()
        try await read(bytes, of: file.session, files.format) { part in
            content.add(part)
            guard !part.live.isEmpty else { return }
            try files.step()
            for admission in try await admit(part.live) {
                switch admission {
                case .kept: report.importedCount += 1
                case .replay: report.knownCount += 1
                case .arrivedExpired: report.endedCount += 1
                }
            }
        }
        try files.step()
        // As they were stored by the policies of a moment ago.
        _ = try await policies(of: file.session)
        guard content.areEndsCertain else { throw LegacyFileFault(.timeUncertain) }
        guard try folder.condemn(file.name, withHash: file.sha256, { SHA256.hash($0) }) else {
            throw LegacyFileFault(.changed)
        }
        try files.step()
        try folder.erase(file.name, step: files.step)
        try files.step()
        report.endedCount += content.endedCount
        report.controlCount += content.controlCount
        report.erasedFileCount += 1
    }

    // MARK: One file

    /// Some messages of a file.
    private struct Part {
        var live: [IncomingMessage] = []
        var endedCount = 0
        var areEndsCertain = true
        var controlCount = 0
    }

    private struct Content {
        private(set) var liveCount = 0
        private(set) var endedCount = 0
        private(set) var areEndsCertain = true
        private(set) var controlCount = 0

        mutating func add(_ part: Part) {
            liveCount += part.live.count
            endedCount += part.endedCount
            areEndsCertain = areEndsCertain && part.areEndsCertain
            controlCount += part.controlCount
        }
    }

    private func read(
        _ bytes: [UInt8], of session: LegacySession, _ format: LegacyMessageFormat,
        _ use: (Part) async throws -> Void
    ) async throws {
        let policies = try await policies(of: session)
        var messages = try LegacyMessages(bytes, format, now: try await times().now)
        while true {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            let next = try messages.next(Self.messagesAtOnce)
            guard !next.isEmpty else { return }
            // Their age is that of now, whatever storing the ones before took.
            try await use(part(next, of: session, policies, try await times()))
        }
    }

    private func times() async throws -> LegacyTimes {
        let reading = await read()
        return LegacyTimes(try await storage.clock(at: reading), wall: reading.wall)
    }

    private func part(
        _ messages: [LegacyMessage], of session: LegacySession, _ policies: [MessageRetentionPolicy],
        _ times: LegacyTimes
    ) -> Part {
        var part = Part()
        for message in messages {
            let author = message.isOwn ? participant : session.peer
            let sender = AuthenticatedSender(author, in: session.conversation)
            guard !Self.isControlMessage(message.text, from: sender) else {
                part.controlCount += 1
                continue
            }
            switch times.term(of: message, policies) {
            case .live(let stamp):
                part.live.append(IncomingMessage(id: message.id, sender: sender, stamp: stamp, body: message.body))
            case .ended(let isCertain):
                part.endedCount += 1
                part.areEndsCertain = part.areEndsCertain && isCertain
            }
        }
        return part
    }

    /// What bounds messages of a session, without their own ends.
    private func policies(of session: LegacySession) async throws -> [MessageRetentionPolicy] {
        let own = try await retentionPolicy(in: session.conversation)
        let policies = [session.policy, own, limits.longest]
        guard !policies.contains(.noStorage) else { throw LegacyFileFault(.nothingStored) }
        return policies
    }

    private static func isControlMessage(_ text: String, from sender: AuthenticatedSender) -> Bool {
        do { return try RetentionPolicyMessage.decoded(Data(text.utf8), from: sender) != nil } catch { return true }
    }
}
