import CloakroomKit
import CloakroomTiers
import Foundation
import Synchronization

/// What must work when all mishaps are over.
extension Fleet {
    /// Heals everything, starts all devices anew, and opens every photo; then one device is wiped and made anew.
    ///
    /// - Returns: what is wrong.
    func finish(wiping choice: Int) throws -> String? {
        heal()
        for phone in phones {
            phone.life.setOffline(false)
            phone.conditions.set(DeviceConditions())
        }
        if let wrong = drain() { return wrong }
        for phone in phones {
            try kill(phone)
            if let wrong = complete(.dismissAlarms, on: phone) ?? complete(.run, on: phone) { return wrong }
            // A file that changed without another size opens as it is: opening hashes nothing.
            let whole = ledger.owned(by: phone.index).filter { !phone.damaged.contains($0) }
            if let wrong = try expectOpen(whole, on: phone) { return wrong }
        }
        return try rebuild(phones[choice % phones.count])
    }

    private func rebuild(_ phone: Phone) throws -> String? {
        let local = phone.localPhotos()
        let left = ledger.owned(by: phone.index).filter { !local.contains($0) && remotePhotos.contains($0) }
        let names = ledger.devices[phone.index].holdings.filter { left.contains($0.key) }.flatMap(\.value.names)
        let knowsNames = !phone.hasLostNames && !ledger.devices[phone.index].wasDismissed
        try wipe(phone)
        if let wrong = complete(.rebuild, on: phone) { return wrong }
        if knowsNames {
            for name in names.sorted(by: { $0.description < $1.description }) {
                let store = phone.processes[0].store
                guard case .success(.some) = complete({ try await store.photo(named: name.description) }) else {
                    return "device \(phone.index) does not know \(name) any more after it was made anew"
                }
            }
        }
        return try expectOpen(left, on: phone)
    }

    private func complete(_ operation: Operation, on phone: Phone) -> String? {
        begin(operation, on: phone, process: 0)
        return drain()
    }

    /// Opens all photos of the timeline.
    private func expectOpen(_ photos: [Int], on phone: Phone) throws -> String? {
        let store = phone.processes[0].store
        let opened = complete {
            var found: [Int: String] = [:]
            for item in try await store.thumbnails(limit: 1000) {
                do {
                    let file = try await store.open(item.id)
                    if let photo = Phone.photo(at: file.url) { found[photo] = "opened" }
                } catch { found[-Int(item.id.rawValue)] = "\(error)" }
            }
            return found
        }
        switch opened {
        case .success(let found):
            guard let photo = photos.first(where: { found[$0] == nil }) else { return nil }
            let errors = found.filter { $0.key < 0 }.values.sorted().joined(separator: "; ")
            return "device \(phone.index) cannot open photo \(photo) in the end (\(errors))"
        case .failure(let error): return "device \(phone.index) cannot open its photos in the end: \(error)"
        case nil: return "opening the photos of device \(phone.index) does not end"
        }
    }

    /// Runs something to its end, with all calls that it waits for.
    private func complete<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) -> Result<Value, any Error>? {
        let result = Box<Result<Value, any Error>>()
        Task {
            do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
        }
        for _ in 0..<5000 {
            runUntilIdle()
            if let value = result.value { return value }
            if turnstile.release(0, .success) == nil { usleep(1000) }
        }
        return nil
    }
}

private final class Box<Value: Sendable>: Sendable {
    private let content = Mutex<Value?>(nil)

    var value: Value? { content.withLock { $0 } }
    func set(_ value: Value) { content.withLock { $0 = value } }
}
