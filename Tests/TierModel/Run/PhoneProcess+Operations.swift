import CloakroomKit
import CloakroomTiers
import Foundation

extension PhoneProcess {
    /// Does what an app does.
    ///
    /// - Parameters:
    ///   - sources: a folder with a file for each photo, named by its number.
    ///   - folder: the store's.
    func perform(_ operation: Operation, sources: URL, folder: URL, at date: Date) async -> EventLog.Ending {
        do {
            return try await attempt(operation, sources: sources, folder: folder, at: date)
        } catch let error as CloakroomError {
            return .failed(error)
        } catch {
            return .failedOtherwise(String(reflecting: error))
        }
    }

    private func attempt(
        _ operation: Operation, sources: URL, folder: URL, at date: Date
    ) async throws -> EventLog.Ending {
        switch operation {
        case .add(let name):
            let file = sources.appendingPathComponent("\(name.photo)")
            _ = try await store.add(file, name: name.description, takenAt: date)
        case .leave(let name):
            let file = sources.appendingPathComponent("\(name.photo)")
            try await TieredPhotoStore.leave(file, name: name.description, takenAt: date, inInboxOf: folder)
        case .remove(let name): try await store.remove(name: name.description)
        case .open(let name):
            guard let id = try await store.photo(named: name.description) else {
                throw CloakroomError(.noSuchPhoto, "no photo has the name \(name)")
            }
            let file = try await store.open(id)
            let photo = (try? Data(contentsOf: file.url)).flatMap { Photos.numbers[$0] }
            if !life.isOver { keep(file, of: name.photo) }
            return .opened(photo: photo)
        case .close: close()
        case .pin(let name, let isPinned):
            guard let id = try await store.photo(named: name.description) else {
                throw CloakroomError(.noSuchPhoto, "no photo has the name \(name)")
            }
            try await store.pin(id, isPinned)
        case .run: _ = await store.run(.manual)
        case .background: _ = await store.run(.background)
        case .freeSpace: _ = await store.freeSpace(.perform)
        case .preview: _ = await store.freeSpace(.preview)
        case .restoreAll:
            if let error = await store.restoreAll().stoppedBy { throw error }
        case .rebuild: _ = try await store.rebuildCatalog()
        case .policy(let period, let limit, let time):
            try await store.setPolicy(RetentionPolicy(period: period, hotByteLimit: limit, uploadTime: time))
        case .dismissAlarms:
            for alarm in try await store.alarms() where alarm.kind != .accountChanged {
                try await store.dismissAlarm(alarm.kind)
            }
            if let change = try await store.accountChange() { try await store.acceptAccount(change.account) }
        case .dismissDevice(let choice):
            let others = try await store.devices().filter { !$0.isThisOne }
            if !others.isEmpty { try await store.dismissDevice(others[choice % others.count].id) }
        case .releaseLock: try await store.releaseLock()
        }
        return .done
    }
}
