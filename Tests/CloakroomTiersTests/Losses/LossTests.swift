import CloakroomCrypto
import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct LossTests {
    func key(_ name: String) -> String { MD5.hash([UInt8](StoreFixture.bytes(name))).hexadecimal }

    @Test func `an alarm keeps no photo from being uploaded`() async throws {
        let f = try StoreFixture()
        _ = try await f.addOld("old", days: 0)
        _ = await f.store.run(.manual)
        f.remote.change { $0.objects.mapValuesInPlace { $0.expiration = Date.distantFuture } }
        f.clock.pass(days: 31)
        let first = await f.store.run(.manual)
        seen(first.stoppedBy as Any, first.alarms.map(\.kind))
        try await f.add("new")
        for _ in 0..<5 {
            f.clock.pass(days: 1); let r = await f.store.run(.manual); seen(r.uploaded, r.stoppedBy as Any)
        }
        #expect(f.remote.account().objects[key("new")] != nil, "uploads go on under an alarm")
    }

    @Test func `a document that cannot be read keeps no photo from being uploaded`() async throws {
        let f = try StoreFixture()
        _ = try await f.addOld("old", days: 0)
        _ = await f.store.run(.manual)
        f.clock.pass(days: 31)
        try await f.tier.putDocument(Data("{\"version\":2}".utf8), named: "intent-other-abc.json")
        try await f.add("new")
        for _ in 0..<5 {
            f.clock.pass(days: 1); let r = await f.store.run(.manual); seen(r.uploaded, r.stoppedBy as Any)
        }
        #expect(f.remote.account().objects[key("new")] != nil)
    }

    @Test func `what the user removed is deleted when the storage is used up, and makes room`() async throws {
        let f = try StoreFixture()
        try await f.add("a"); try await f.add("b")
        _ = await f.store.run(.manual)
        f.remote.setQuota(6000)
        try await f.add("c")
        _ = await f.store.run(.manual)
        try await f.store.remove(name: "a")
        for _ in 0..<10 {
            f.clock.pass(days: 1); let r = await f.store.run(.manual);
            seen(r.uploaded, r.deleted, r.stoppedBy?.code as Any)
        }
        #expect(f.remote.account().objects[key("a")] == nil, "removed a week ago")
        #expect(f.remote.account().objects[key("c")] != nil)
    }

    @Test func `a snapshot that cannot be read is passed over when the catalog is made anew`() async throws {
        let a = try StoreFixture(device: "a")
        try await a.add("a")
        _ = await a.store.run(.manual)
        try await a.tier.putDocument(Data("xx".utf8), named: "snapshot-lost-000001800000000.json")
        let b = try StoreFixture(remote: a.remote, device: "b")
        let first = await CloakroomError.code { _ = try await b.store.rebuildCatalog() }
        try await b.store.dismissDevice(try #require(DeviceID(rawValue: "lost")))
        let second = await CloakroomError.code { _ = try await b.store.rebuildCatalog() }
        seen(first as Any, second as Any, try await b.store.usage().photoCount)
        #expect(second == nil)
    }

    @Test func `a catalog that was lost gives no photo to another account`() async throws {
        let f = try StoreFixture()
        try await f.add("secret")
        _ = await f.store.run(.manual)
        f.tier.signIn("other")
        try await f.relaunch()
        try await f.add("secret2")
        seen(await f.store.run(.manual).stoppedBy?.code as Any)
        try await f.store.releaseLock()
        for suffix in ["", "-wal", "-shm"] {
            let u = f.folder.appendingPathComponent("catalog.sqlite\(suffix)")
            if suffix == "" {
                try Data(repeating: 7, count: 40_000).write(to: u)
            } else {
                try? FileManager.default.removeItem(at: u)
            }
        }
        try await f.relaunch()
        let r = await f.store.run(.manual)
        seen(r.uploaded, r.stoppedBy as Any, r.alarms)
        #expect(f.remote.account("other").objects.isEmpty, "photos of another account are never uploaded")
    }

    @Test func `another account's photos are not brought into a store`() async throws {
        let f = try StoreFixture()
        try await f.add("mine")
        _ = await f.store.run(.manual)
        let g = try StoreFixture(remote: f.remote, device: "g")
        g.tier.signIn("other")
        try await g.add("theirs")
        _ = await g.store.run(.manual)
        f.tier.signIn("other")
        let code = await CloakroomError.code { _ = try await f.store.rebuildCatalog() }
        let theirs = try await f.store.photo(named: "theirs")
        if let theirs { seen((try? await f.read(theirs)) == g.bytes["theirs"]) }
        f.tier.signIn("user")
        if let theirs { seen((try? await f.read(theirs)) == g.bytes["theirs"]) }
        seen(code as Any, theirs as Any)
        #expect(theirs == nil)
    }

    @Test func `a folder that was restored on another phone is another device`() async throws {
        let remote = ScriptedStore()
        let a = try StoreFixture(remote: remote, device: "a")
        try await a.add("p")
        _ = await a.store.run(.manual)
        // The phone's backup, restored on another phone.
        let b = try StoreFixture(remote: remote, device: "b")
        try await b.store.releaseLock()
        try FileManager.default.removeItem(at: b.folder)
        try await a.store.releaseLock()
        try FileManager.default.copyItem(at: a.folder, to: b.folder)
        try await b.relaunch()
        a.clock.pass(days: 31)
        let rb = await b.store.run(.manual)
        seen(rb.evicted, b.photoFiles)
        try await a.store.remove(name: "p")
        for _ in 0..<4 {
            let ra = await a.store.run(.manual)
            let rb = await b.store.run(.manual)
            seen(ra.deleted, "b", rb.stoppedBy as Any)
            a.clock.pass(days: 1.01)
        }
        let id = try #require(try await b.store.photo(named: "p"))
        let data = try? await b.read(id)
        #expect(data == a.bytes["p"], "lost on the phone that did not remove it")
    }

    @Test func `an entry of the inbox that cannot be copied keeps nothing else from being done`() async throws {
        let f = try StoreFixture()
        try await f.add("p")
        try FileManager.default.createDirectory(
            at: f.folder.appendingPathComponent("inbox/x.photo"), withIntermediateDirectories: true)
        let r = await f.store.run(.manual)
        let s = await f.store.freeSpace(.perform)
        seen(r.uploaded, r.stoppedBy as Any, s.stoppedBy as Any)
        #expect(r.uploaded == 1)
    }

    @Test func `one object that cannot be read ends no run`() async throws {
        let bad = Mutex<String?>(nil)
        let f = try StoreFixture(gate: { call, moment in
            if call.kind == .verify, moment == .before, call.subject == bad.withLock({ $0 }) {
                throw CloakroomError(.internalError, "a lost chunk", status: 500)
            }
        })
        try await f.add("p")
        _ = await f.store.run(.manual)
        f.clock.pass(days: 31)
        seen(await f.store.run(.manual).evicted)
        bad.withLock { $0 = key("p") }
        f.clock.pass(days: 8)
        try await f.add("new")
        for _ in 0..<5 {
            f.clock.pass(days: 1); let r = await f.store.run(.manual);
            seen(r.uploaded, r.stoppedBy as Any, r.failures.count)
        }
        #expect(f.remote.account().objects[key("new")] != nil)
    }

    @Test func `photos of a device whose snapshots are gone are not deleted`() async throws {
        let remote = ScriptedStore()
        let a = try StoreFixture(remote: remote, device: "a")
        let b = try StoreFixture(remote: remote, device: "b")
        try await a.add("p"); try await b.add("p")
        _ = await a.store.run(.manual); _ = await b.store.run(.manual)
        a.clock.pass(days: 31)
        seen(await b.store.run(.manual).evicted)
        remote.change { $0.documents = [:] }
        for _ in 0..<10 {
            a.clock.pass(days: 1); let r = await b.store.run(.manual);
            if r.stoppedBy != nil || !r.alarms.isEmpty { seen(r) }
        }
        seen(remote.account().documents.count)
        try await a.store.remove(name: "p")
        for _ in 0..<5 {
            let r = await a.store.run(.manual); _ = await b.store.run(.manual); seen(r.deleted);
            a.clock.pass(days: 1.01)
        }
        let id = try #require(try await b.store.photo(named: "p"))
        #expect((try? await b.read(id)) == b.bytes["p"])
    }

    @Test func `a device that was dismissed begins anew, with nothing due`() async throws {
        let remote = ScriptedStore()
        let a = try StoreFixture(remote: remote, device: "a")
        let b = try StoreFixture(RetentionPolicy(period: .forever), remote: remote, device: "b")
        try await a.add("x"); try await b.add("p"); try await b.add("q")
        _ = await a.store.run(.manual); _ = await b.store.run(.manual)
        let other = try #require(try await a.store.devices().first { !$0.isThisOne })
        try await a.store.dismissDevice(other.id)
        try await b.store.remove(name: "q")
        for _ in 0..<6 {
            a.clock.pass(days: 1); let r = await b.store.run(.manual);
            seen(r.deleted, r.alarms.map(\.kind), r.stoppedBy as Any)
        }
        seen(try await a.store.devices().count, "b's id changed:", await b.store.device != other.id)
        #expect(remote.account().objects[key("q")] == nil)
    }

    @Test func `a photo that is removed right after its arrival is gone`() async throws {
        let remote = ScriptedStore()
        let a = try StoreFixture(remote: remote, device: "a")
        try await a.add("p")
        _ = await a.store.run(.manual)
        remote.change { $0.documents = [:] }
        let b = try StoreFixture(remote: remote, device: "b")
        _ = try await b.store.rebuildCatalog()
        _ = await b.store.run(.manual)
        let id = try #require(try await b.store.thumbnails(limit: 10).first?.id)
        let file = try await b.store.open(id)
        file.close()
        try await b.store.remove(id)
        try await Task.sleep(for: .seconds(1))
        try await b.relaunch()
        _ = await b.store.run(.manual)
        seen(b.photoFiles, try await b.store.thumbnails(limit: 10).count)
        #expect(try await b.store.thumbnails(limit: 10).isEmpty)
    }
}

actor Gate {
    private var isOpen = false
    private var isThere = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []
    func pass() async {
        isThere = true
        for w in watchers { w.resume() }
        watchers = []
        if !isOpen { await withCheckedContinuation { waiting.append($0) } }
    }
    func arrived() async { if !isThere { await withCheckedContinuation { watchers.append($0) } } }
    func open() { isOpen = true; for w in waiting { w.resume() }; waiting = [] }
}

extension Dictionary {
    fileprivate mutating func mapValuesInPlace(_ body: (inout Value) -> Void) { for k in keys { body(&self[k]!) } }
}

/// What a reader of a failure wants to know is at hand in the debugger; the calls in it count.
private func seen(_ values: Any...) {}
