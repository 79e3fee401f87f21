import CloakroomKit
import Foundation

extension TieredPhotoStore {
    /// The user's devices that have published something and were not dismissed, the latest first: a request to the tier.
    ///
    /// Also those whose documents are gone, as far as this device has seen them before: they can be dismissed.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/accountChanged``, and what the cold tier throws.
    public func devices() async throws -> [PhotoDevice] {
        try readDevice()
        try await checkAccount()
        return try await documents.devices()
    }

    /// Gives up a lost device: what only it names may be deleted.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/notFound``, ``CloakroomError/Code/invalidRequest`` for this
    ///   device itself, ``CloakroomError/Code/accountChanged``, and what the cold tier throws.
    public func dismissDevice(_ id: DeviceID) async throws {
        try requireLock()
        try await checkAccount()
        try await documents.dismiss(id)
    }

    /// Makes the catalog anew from this device's files, the snapshots of all devices, and a listing of the cold tier.
    ///
    /// What the catalog has stays, and no file is deleted. The photos of this device come first: they are there even when
    /// the tier is unreachable and this throws. Everything else follows after the listing is complete.
    public func rebuildCatalog() async throws -> RebuildReport {
        try await writing(isLong: true) { try await $0.rebuild() }
    }

    private func rebuild() async throws -> RebuildReport {
        var report = RebuildReport()
        hasAdoptedOrphans = false
        report.adopted = try await adoptOrphans()
        _ = try await checkedIdentity()
        report.ignoredFiles = try countStrangeFiles()
        report = try await documents.rebuild(report)
        try catalog.set(.rebuild, to: nil)
        return report
    }

    /// Files among the photos that are no photo's, after all that are were adopted.
    private func countStrangeFiles() throws -> Int {
        // One at a time, as a folder may have very many.
        guard let files = FileManager.default.enumerator(atPath: folder.photos.path) else {
            throw CloakroomError(.unreadableFile, "the folder of the photos cannot be listed")
        }
        var count = 0
        while let name = files.nextObject() as? String {
            files.skipDescendants()
            let row = try Self.sha256(ofFile: name).flatMap { try catalog.photo(sha256: $0) }
            if row == nil || row?.state == .cold || row?.state == .missing || row?.fileName != name { count += 1 }
        }
        return count
    }

    /// Another process may have set it. One that is not recorded is recorded by the one who may write.
    func readDevice() throws(CloakroomError) {
        let known = try catalog.setting(.device).flatMap { DeviceID(rawValue: $0) }
        guard let known else {
            if isWriter { try catalog.set(.device, to: device.rawValue) }
            return
        }
        guard known != device else { return }
        device = known
        documents.adopt(known)
    }

    /// Uploads what changed in the catalog, for the user's other devices: see ``DeviceDocuments/publish()``.
    func publishSnapshot() async throws {
        defer { device = documents.device }
        try await documents.publish()
    }

    /// What other devices are going to delete; after ``publishSnapshot()``, before photos are proven and leave.
    func surveyDevices() async throws -> DeviceSurvey {
        defer { device = documents.device }
        return try await documents.survey()
    }

    /// Deletes in the tier what the user removed: see ``DeviceDocuments/advanceDeletions(_:)``.
    func advanceDeletions(_ survey: DeviceSurvey) async throws -> Int {
        try await documents.advanceDeletions(survey)
    }

    /// After ``DeviceSurvey/isDismissed``.
    func becomeNewDevice() async throws {
        defer { device = documents.device }
        try await documents.becomeNewDevice()
    }
}
