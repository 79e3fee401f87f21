import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation

extension Fleet {
    /// - Returns: what is wrong after it.
    func perform(_ step: Step) throws -> String? {
        switch step {
        case .begin(let device, let process, let operation): begin(operation, on: phones[device], process: process)
        case .turn(let choice, let outcome): turnstile.release(choice, outcome)
        case .advance(let device, let calls): return advance(phones[device], calls)
        case .advanceUntil(let device, let place): return advance(phones[device], 200, until: place)
        case .drain: return drain()
        case .pass(let hours):
            store.clock.pass(Double(hours) * 3600)
            for phone in phones { phone.clock.pass(Double(hours) * 3600) }
            expire()
        case .setClock(let device, let hours):
            phones[device].clock.pass(Double(hours) * 3600)
            ledger.devices[device].clockSetAt = ledger.moment
        case .store(let event): perform(event)
        case .network(let device, let isOn): phones[device].life.setOffline(!isOn)
        case .power(let device, let isOn):
            phones[device].conditions.set(
                DeviceConditions(hasExternalPower: isOn, batteryLevel: 0.1, network: isOn ? .unrestricted : .none))
        case .damageFile(let device, let photo): try damageFile(of: photo, on: phones[device])
        case .damageCatalog(let device): try damageCatalog(of: phones[device])
        case .kill(let device): try kill(phones[device])
        case .killAtStep(let device, let steps): killAtStep(steps, of: phones[device])
        case .wipe(let device): try wipe(phones[device])
        case .secondProcess(let device): try toggleSecondProcess(of: phones[device])
        }
        return settle()
    }

    private func advance(_ phone: Phone, _ calls: Int, until place: CallPlace? = nil) -> String? {
        for _ in 0..<calls {
            if let wrong = settle() { return wrong }
            if let place, turnstile.hasCall(of: phone.index, at: place) { return nil }
            guard turnstile.releaseFirst(of: phone.index) else { break }
        }
        return settle()
    }

    private func perform(_ event: StoreEvent) {
        switch event {
        case .destroy(let photo):
            let key = Photos.keys[photo]
            store.change { $0.objects[key] = nil }
            for photo in ledger.remote where Photos.keys[photo] == key { ledger.destroyed(photo) }
        case .damage(let photo):
            let key = Photos.keys[photo]
            store.change { account in
                account.objects[key]?.bytes.flipBit()
                account.objects[key]?.tag += "-damaged"
            }
            for photo in ledger.remote where Photos.keys[photo] == key { ledger.destroyed(photo) }
        case .expire(let photo, let hours):
            store.change { [date = store.clock.now + Double(hours) * 3600] in
                $0.objects[Photos.keys[photo]]?.expiration = date
            }
        case .archive(let photo): store.change { $0.objects[Photos.keys[photo]]?.isArchived = true }
        case .damageDocument(let choice):
            store.change { account in
                let names = account.documents.keys.sorted()
                if !names.isEmpty { account.documents[names[choice % names.count]]?.bytes.flipBit() }
            }
        case .quota(let isFull): store.setQuota(isFull ? 0 : nil)
        case .heal: heal()
        }
    }

    /// No rule, archive or quota any more.
    func heal() {
        store.setQuota(nil)
        store.change { account in
            for key in account.objects.keys {
                account.objects[key]?.isArchived = false
                account.objects[key]?.expiration = nil
            }
        }
    }

    /// What rules delete by now.
    private func expire() {
        let date = store.clock.now
        let gone = store.account().objects.filter { $1.expiration.map { $0 <= date } ?? false }.keys.sorted()
        for key in gone {
            store.change { $0.objects[key] = nil }
            for photo in ledger.remote where Photos.keys[photo] == key { ledger.destroyed(photo) }
        }
    }

    private func damageFile(of photo: Int, on phone: Phone) throws {
        guard let file = phone.file(of: photo) else { return }
        var bytes = Photos.bytes[photo]
        bytes.flipBit()
        // Another file of that name: a copy of a killed process may be the same one.
        try bytes.write(to: file, options: .atomic)
        phone.damaged.insert(photo)
        if !phone.localPhotos().contains(photo) { ledger.damagedFile(photo, on: phone.index) }
    }

    private func damageCatalog(of phone: Phone) throws {
        let copy = phone.nextFolder()
        Phone.copy(phone.folder, to: copy)
        for name in ["catalog.sqlite", "catalog.sqlite-wal"] {
            let file = copy.appendingPathComponent(name)
            guard FileManager.default.fileExists(atPath: file.path) else { continue }
            try Data(repeating: 0x5A, count: 4096).write(to: file)
        }
        phone.life.end()
        phone.hasLostNames = true
        ledger.lostCatalog(phone.index)
        try bury(phone, folder: copy)
    }

    private func killAtStep(_ steps: Int, of phone: Phone) {
        let (index, folder, copy, log) = (phone.index, phone.folder, phone.nextFolder(), log)
        phone.life.end(afterSteps: steps) {
            Phone.copy(folder, to: copy)
            log.append(.killed(device: index, folder: copy))
        }
    }

    func wipe(_ phone: Phone) throws {
        phone.life.end()
        ledger.wiped(phone.index)
        phone.hasLostNames = true
        phone.damaged = []
        try bury(phone, folder: phone.nextFolder())
    }

    private func toggleSecondProcess(of phone: Phone) throws {
        if phone.processes.count < 2 {
            ledger.devices[phone.index].hasSecondProcess = true
            return try launch(phone)
        }
        // It ends where nothing is under way.
        if !phone.life.isBusy {
            phone.processes.removeLast()
            ledger.devices[phone.index].hasSecondProcess = false
        }
    }
}
