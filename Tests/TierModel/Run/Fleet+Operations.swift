import CloakroomKit
import CloakroomTiers
import Foundation

extension Fleet {
    /// Begins an operation of an app.
    func begin(_ operation: Operation, on phone: Phone, process number: Int) {
        guard let process = number < phone.processes.count ? phone.processes[number] : phone.processes.first else {
            return
        }
        var started = EventLog.Started(
            device: phone.index, operation: operation, overlapsRemoval: false, removals: 0, policies: 0)
        switch operation {
        case .add(let name), .leave(let name):
            started.overlapsRemoval = phone.removalsUnderWay[name, default: 0] > 0
            started.removals = phone.removals[name, default: 0]
        case .remove(let name):
            phone.removals[name, default: 0] += 1
            phone.removalsUnderWay[name, default: 0] += 1
            ledger.removing(name, on: phone.index)
            if !ledger.owns(phone.index, name.photo) { for process in phone.processes { process.forget(name.photo) } }
        case .pin(let name, false): ledger.devices[phone.index].holdings[name.photo]?.isPinned = false
        case .policy:
            phone.policies += 1
            ledger.devices[phone.index].keepsEverything = false
        case .dismissDevice:
            for other in phones.indices where other != phone.index { ledger.devices[other].wasDismissed = true }
        default: break
        }
        started.policies = phone.policies
        let (begun, life, log, sources, folder) = (started, process.life, log, sources, phone.folder)
        let date = phone.clock.now
        life.begin()
        Task {
            let ending = await process.perform(operation, sources: sources, folder: folder, at: date)
            if !life.isOver { log.append(.ended(begun, ending)) }
            life.finish()
        }
    }

    /// - Returns: what is wrong.
    func ended(_ started: EventLog.Started, _ ending: EventLog.Ending) -> String? {
        let device = started.device
        let phone = phones[device]
        if case .remove(let name) = started.operation { phone.removalsUnderWay[name, default: 1] -= 1 }
        switch ending {
        case .failedOtherwise(let error): return "\(started.operation) on device \(device) throws \(error)"
        case .failed: return nil
        case .opened(let photo):
            guard case .open(let name) = started.operation, photo != name.photo else { return nil }
            guard ledger.owns(device, name.photo), !phone.damaged.contains(name.photo) else { return nil }
            return "device \(device) opens \(name) with other bytes than its own"
        case .done: succeeded(started, phone)
        }
        return nil
    }

    private func succeeded(_ started: EventLog.Started, _ phone: Phone) {
        let device = phone.index
        switch started.operation {
        case .add(let name), .leave(let name):
            guard !started.overlapsRemoval, started.removals == phone.removals[name, default: 0] else { return }
            ledger.added(name, on: device)
            // What was left in the inbox takes the damaged file's place later.
            if case .add = started.operation { phone.damaged.remove(name.photo) }
        case .pin(let name, true):
            if ledger.owns(device, name.photo) { ledger.devices[device].holdings[name.photo]?.isPinned = true }
        case .policy(let period, _, _):
            if started.policies == phone.policies { ledger.devices[device].keepsEverything = period == .forever }
        case .restoreAll:
            if started.policies == phone.policies { ledger.devices[device].keepsEverything = true }
        case .close, .dismissAlarms, .dismissDevice, .remove, .open, .pin, .run, .background, .freeSpace, .preview,
            .rebuild, .releaseLock:
            break
        }
    }
}
