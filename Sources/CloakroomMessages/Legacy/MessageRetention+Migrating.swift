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
        preview.left = names.others.map { LegacyFileLeft(name: $0, reason: .otherFile) }
        let sessions = names.files.map { name in Self.sessionName(of: name).flatMap(files.session) }
        var seen = LegacyBodies(sessions.compactMap { $0 })
        for (name, session) in zip(names.files, sessions) {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            do {
                preview.files.append(try await count(name, of: session, in: folder, files, &seen))
            } catch let fault as LegacyFileFault {
                preview.left.append(LegacyFileLeft(name: name, reason: fault.reason))
            }
        }
        let conflicting = preview.files.filter { seen.conflictingFiles.contains($0.name) }
        preview.files.removeAll { seen.conflictingFiles.contains($0.name) }
        preview.left += conflicting.map { LegacyFileLeft(name: $0.name, reason: .conflicting) }
        preview.left.sort { $0.name < $1.name }
        return preview
    }

    /// Moves the messages that a preview has counted, file by file, each with the end that it had or that the policies
    /// say, whichever comes first. When each is stored, or among those that the preview has counted as over, the file is
    /// overwritten with zeros and removed.
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
            try folder.finishRestoring()
            for name in preview.unfinished {
                if try folder.erase(name, step: preview.source.step) {
                    report.erasedFileCount += 1
                } else {
                    report.left.append(LegacyFileLeft(name: name + LegacyFolder.suffix, reason: .otherFile))
                }
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

    /// - Returns: `nil` for a file with another name.
    private static func sessionName(of file: String) -> String? {
        let name = LegacyFolder.originalName(of: file)
        return name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : nil
    }

    private func count(
        _ name: String, of session: LegacySession?, in folder: borrowing LegacyFolder, _ files: LegacyMessageFiles,
        _ seen: inout LegacyBodies
    ) async throws -> MessageMigrationPreview.File {
        guard Self.sessionName(of: name) != nil else { throw LegacyFileFault(.otherFile) }
        let bytes = try folder.read(name)
        guard let session else { throw LegacyFileFault(.unknownSession) }
        var fates: [LegacyFate] = []
        var bodies = seen
        try await read(bytes, of: session, files.format) { part in
            fates += part.fates
            for candidate in part.candidates { bodies.add(candidate.message, in: name) }
        }
        seen = bodies
        func count(_ fate: LegacyFate) -> Int { fates.count { $0 == fate } }
        return MessageMigrationPreview.File(
            name: name, conversation: session.conversation, messageCount: count(.new), knownCount: count(.known),
            endedCount: count(.ended), controlCount: count(.control), session: session, sha256: SHA256.hash(bytes),
            fates: fates)
    }

    private func move(
        _ file: MessageMigrationPreview.File, in folder: borrowing LegacyFolder, _ files: LegacyMessageFiles,
        _ report: inout MessageMigrationReport
    ) async throws {
        let bytes = try folder.read(file.name)
        guard SHA256.hash(bytes) == file.sha256 else { throw LegacyFileFault(.changed) }
        try await read(bytes, of: file.session, files.format) { part in
            report.knownCount += part.fates.count { $0 == .known }
            guard !part.new.isEmpty else { return }
            try files.step()
            let admissions = try await admit(part.new)
            report.importedCount += admissions.count { if case .kept = $0 { true } else { false } }
            // By a cut that came a moment ago.
            let hasEnd = admissions.contains { if case .kept(until: .some) = $0 { true } else { false } }
            guard part.times.isCertain || !hasEnd else { throw LegacyFileFault(.timeUncertain) }
        }
        try files.step()
        try await requireStored(bytes, of: file, files.format)
        guard
            let condemned = try folder.condemn(
                file.name, withHash: file.sha256, { SHA256.hash($0) }, step: files.step)
        else { throw LegacyFileFault(.changed) }
        try files.step()
        guard try folder.erase(condemned, step: files.step) else { throw LegacyFileFault(.otherFile) }
        try files.step()
        report.endedCount += file.endedCount
        report.controlCount += file.controlCount
        report.erasedFileCount += 1
    }

    /// Nothing is erased but what is stored, and what the preview has counted as over.
    private func requireStored(
        _ bytes: [UInt8], of file: MessageMigrationPreview.File, _ format: LegacyMessageFormat
    ) async throws {
        var index = 0
        var hasEnded = false
        try await read(bytes, of: file.session, format) { part in
            for fate in part.fates {
                let shown = index < file.fates.count ? file.fates[index] : .new
                index += 1
                switch fate {
                case .new: throw LegacyFileFault(.notStored)
                case .ended: hasEnded = hasEnded || shown != .ended
                case .known, .control: break
                }
            }
        }
        guard !hasEnded else { throw LegacyFileFault(.endedSincePreview) }
    }

    private func read(
        _ bytes: [UInt8], of session: LegacySession, _ format: LegacyMessageFormat,
        _ use: (LegacyPart) async throws -> Void
    ) async throws {
        let policies = try await policies(of: session)
        var messages = try LegacyMessages(bytes, format, try await times())
        while true {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            let next = try messages.next(LegacyPart.size)
            guard !next.isEmpty else { return }
            // Their age is that of now, whatever storing the ones before took.
            var part = LegacyPart(try await times())
            for message in next {
                try part.add(message, by: message.isOwn ? participant : session.peer, in: session, policies)
            }
            try part.decide(try await storage.holdings(of: part.candidates))
            try await use(part)
        }
    }

    private func times() async throws -> LegacyTimes {
        let reading = await read()
        return LegacyTimes(try await storage.clock(at: reading), wall: reading.wall)
    }

    /// What bounds messages of a session, without their own ends.
    private func policies(of session: LegacySession) async throws -> [MessageRetentionPolicy] {
        let own = try await retentionPolicy(in: session.conversation)
        let policies = [session.policy, own, limits.longest]
        guard !policies.contains(.noStorage) else { throw LegacyFileFault(.nothingStored) }
        return policies
    }
}
