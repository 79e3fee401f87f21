import CloakroomCrypto
import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct LateLossTests {
    func key(_ name: String) -> String { MD5.hash([UInt8](StoreFixture.bytes(name))).hexadecimal }

    @Test func `a damaged page of the catalog costs no photo`() async throws {
        let f = try StoreFixture()
        for n in 0..<150 { try await f.add("p\(n)") }
        _ = await f.store.run(.manual)
        try await f.store.releaseLock()
        let g = try StoreFixture(remote: f.remote)
        try await g.store.releaseLock()
        try FileManager.default.removeItem(at: g.folder)
        try FileManager.default.copyItem(at: f.folder, to: g.folder)
        for s in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(at: g.folder.appendingPathComponent("catalog.sqlite\(s)"))
        }
        let u = g.folder.appendingPathComponent("catalog.sqlite")
        var d = try Data(contentsOf: u)
        let page = 4096
        seen(d.count)
        for p in stride(from: 22, to: d.count / page, by: 3) { for i in 0..<page { d[p * page + i] = 0xaa } }
        try d.write(to: u)
        for round in 0..<3 {
            try await g.relaunch()
            seen(await CloakroomError.code { try await g.add("new\(round)") } as Any)
            let r = await g.store.run(.manual)
            seen(r.stoppedBy as Any, r.failures.count)
            seen(await CloakroomError.code { _ = try await g.store.rebuildCatalog() } as Any)
            seen(await CloakroomError.code { _ = try await g.store.thumbnails(limit: 1000).count } as Any)
        }
        var bad = 0
        for n in 0..<150 {
            let ok: Data? = try? await {
                guard let id = try await g.store.photo(named: "p\(n)") else { return nil }; return try await g.read(id)
            }()
            if ok != f.bytes["p\(n)"] { bad += 1 }
        }
        seen(bad, "files", g.photoFiles.count)
        #expect(bad == 0)
    }

    @Test func `a thumbnail that is made late is uploaded`() async throws {
        let fails = Mutex(true)
        let f = try StoreFixture(
            thumbnailer: ScriptedThumbnailer { _ in
                if fails.withLock({ $0 }) { throw CloakroomError(.unavailable, "not now") }
            })
        try await f.add("p")
        _ = await f.store.run(.manual)
        fails.withLock { $0 = false }
        for _ in 0..<3 { f.clock.pass(days: 1); _ = await f.store.run(.manual) }
        f.clock.pass(days: 31)
        let r = await f.store.run(.manual)
        seen(f.remote.account().objects.count, f.remote.account().thumbnails.count, "evicted", r.evicted)
        #expect(f.remote.account().thumbnails.count == 1)
    }

    @Test func `an alarm keeps no photo from being uploaded that is due, too`() async throws {
        let f = try StoreFixture()
        try await f.add("x"); try await f.add("y")
        _ = await f.store.run(.manual)
        let kx = key("x")
        f.remote.change { $0.objects[kx]?.expiration = Date.distantFuture }
        f.clock.pass(days: 31)
        for _ in 0..<2 {
            let first = await f.store.run(.manual); seen(first.stoppedBy as Any, first.alarms.map(\.kind));
            f.clock.pass(days: 0.1)
        }
        try await f.add("new")
        for _ in 0..<5 {
            f.clock.pass(days: 1); let r = await f.store.run(.manual); seen(r.uploaded, r.stoppedBy as Any)
        }
        #expect(f.remote.account().objects[key("new")] != nil, "uploads go on under an alarm")
    }

    @Test func `a dismissed device that was suspended in a deletion deletes nothing that left another one`()
        async throws
    {
        let remote = ScriptedStore()
        let gate = Gate()
        let d = try StoreFixture(
            remote: remote, device: "d",
            gate: { call, moment in
                if call.kind == .delete, moment == .before { await gate.pass() }
            })
        let b = try StoreFixture(remote: remote, device: "b")
        try await d.add("p"); try await b.add("other")
        _ = await d.store.run(.manual); _ = await b.store.run(.manual)
        try await d.store.remove(name: "p")
        _ = await d.store.run(.manual)
        d.clock.pass(days: 3)
        let store = d.store
        let run = Task { await store.run(.manual) }
        await gate.arrived()  // suspended by the system here
        try await b.add("p")
        _ = await b.store.run(.manual)
        let lost = try #require(try await b.store.devices().first { !$0.isThisOne })
        try await b.store.dismissDevice(lost.id)
        d.clock.pass(days: 31)
        let r = await b.store.run(.manual)
        seen(r.evicted, r.stoppedBy as Any)
        await gate.open()
        seen(await run.value.deleted)
        let id = try #require(try await b.store.photo(named: "p"))
        #expect((try? await b.read(id)) == b.bytes["p"])
    }

    @Test func `a process that only reads moves no catalog aside`() async throws {
        let f = try StoreFixture()
        try await f.add("p")
        _ = await f.store.run(.manual)
        // Damage the header while the writer is open, as seen by a second process.
        let u = f.folder.appendingPathComponent("catalog.sqlite")
        try await f.store.releaseLock()
        let h = try FileHandle(forUpdating: u)
        try h.write(contentsOf: Data(repeating: 7, count: 16)); try h.close()
        _ = try? await f.store.setPolicy(RetentionPolicy(period: .week))  // takes the lock again
        let clock = f.clock
        let second = try? TieredPhotoStore(
            folder: f.folder, tier: ScriptedTier(f.remote), thumbnailer: f.thumbnailer, policy: RetentionPolicy(),
            conditions: f.conditions, clock: { clock.now })
        let names = try FileManager.default.contentsOfDirectory(atPath: f.folder.path)
        seen(await f.store.isWriter, await second?.isWriter as Any, names)
        #expect(!names.contains { $0.contains("corrupt") }, "moved aside by one who only reads")
    }

    @Test func `a policy that is changed during a run counts at once`() async throws {
        let gate = Gate()
        let f = try StoreFixture(
            RetentionPolicy(period: .week),
            gate: { call, moment in
                if call.kind == .verify, moment == .before { await gate.pass() }
            })
        _ = try await f.addOld("p", days: 10)
        let store = f.store
        let run = Task { await store.run(.manual) }
        await gate.arrived()
        try await store.setPolicy(RetentionPolicy(period: .quarter))
        await gate.open()
        seen(await run.value.evicted)
        #expect(f.photoFiles.count == 1)
    }

    @Test func `what was removed in another account keeps no run busy`() async throws {
        // A tombstone of a former account keeps each run busy.
        let f = try StoreFixture()
        try await f.add("p")
        _ = await f.store.run(.manual)
        try await f.store.remove(name: "p")
        f.tier.signIn("other")
        _ = await f.store.run(.manual)
        try await f.store.dismissAlarm(.accountChanged)
        _ = await f.store.run(.manual)
        f.remote.resetRequests()
        for _ in 0..<3 { f.clock.pass(days: 1); _ = await f.store.run(.manual) }
        seen(f.remote.requests)
        #expect(f.remote.requestCount == 0)
    }
}

@Suite(.serialized) struct DamagedPageTests {
    @Test func `whatever page of the catalog is damaged, the photos are there again after a launch`() async throws {
        let f = try StoreFixture()
        for n in 0..<40 { try await f.add("p\(n)") }
        _ = await f.store.run(.manual)
        f.clock.pass(days: 20)
        for n in 40..<60 { try await f.add("p\(n)") }
        _ = await f.store.run(.manual)
        f.clock.pass(days: 12)
        seen(await f.store.run(.manual).evicted)
        try await f.store.releaseLock()
        let size = try Data(contentsOf: f.folder.appendingPathComponent("catalog.sqlite")).count
        for p in 0..<(size / 4096) {
            let g = try StoreFixture(remote: f.remote)
            try await g.store.releaseLock()
            try FileManager.default.removeItem(at: g.folder)
            try FileManager.default.copyItem(at: f.folder, to: g.folder)
            let u = g.folder.appendingPathComponent("catalog.sqlite")
            for s in ["-wal", "-shm"] { try? FileManager.default.removeItem(at: URL(fileURLWithPath: u.path + s)) }
            var d = try Data(contentsOf: u)
            for i in 0..<4096 { d[p * 4096 + i] = 0xaa }
            try d.write(to: u)
            do { try await g.relaunch() } catch { seen(p, "OPEN", error); continue }
            let r1 = await g.store.run(.manual)
            let rebuild = await CloakroomError.code { _ = try await g.store.rebuildCatalog() }
            try? await g.relaunch()
            let r2 = await g.store.run(.manual)
            var bad = 0
            for n in 0..<60 {
                let ok: Data? = try? await {
                    guard let id = try await g.store.photo(named: "p\(n)") else { return nil };
                    return try await g.read(id)
                }()
                if ok != f.bytes["p\(n)"] { bad += 1 }
            }
            let add = await CloakroomError.code { try await g.add("new") }
            if r2.stoppedBy != nil || bad > 0 || add != nil || rebuild != nil {
                seen(
                    p, "of", size / 4096, "run", r1.stoppedBy as Any, "again", r2.stoppedBy as Any, "rebuild",
                    rebuild as Any, "bad", bad, "add", add as Any)
            }
        }
    }

    /// Unlinked, and then the disk is full: state 3 while the store lives on.
    @Test func `a size that no photo has does not stop the counting`() async throws {
        let f = try StoreFixture()
        try await f.add("mine")
        _ = await f.store.run(.manual)
        func e(_ a: String) -> String {
            "{\"sha256\":\"\(String(repeating: a, count: 32))\",\"md5\":\"\(String(repeating: a, count: 16))\",\"byteCount\":9223372036854775807,\"format\":\"jpg\",\"takenAt\":1,\"addedAt\":1}"
        }
        try await f.tier.putDocument(
            Data("{\"version\":1,\"entries\":[\(e("ab")),\(e("cd"))]}".utf8), named: "snapshot-x-000001800000000.json")
        _ = try await f.store.rebuildCatalog()
        seen(
            await CloakroomError.code { _ = try await f.store.usage() } as Any,
            await CloakroomError.code { _ = try await f.store.downloadPlan() } as Any)
        f.clock.pass(days: 31)
        seen(await f.store.run(.manual).stoppedBy as Any)
    }
}

@Suite(.serialized) struct StaleLossTests {
    @Test func `the policy that another process set counts`() async throws {
        let f = try StoreFixture()
        _ = try await f.addOld("p")
        seen(await f.store.run(.manual).evicted)
        try await f.store.releaseLock()
        let clock = f.clock
        do {
            let second = try TieredPhotoStore(
                folder: f.folder, tier: ScriptedTier(f.remote), thumbnailer: f.thumbnailer, policy: RetentionPolicy(),
                conditions: f.conditions, clock: { clock.now })
            seen(await second.restoreAll().restored)
            try await second.releaseLock()
        }
        f.clock.pass(days: 8)
        seen(await f.store.run(.manual).evicted, await f.store.policy.period)
        #expect(f.photoFiles.count == 1, "downloaded everything, for ever")
    }

    @Test func `room is freed also when the inbox does not fit on the disk`() async throws {
        let f = try StoreFixture()
        let big = URL(fileURLWithPath: "/tmp/big-\(UUID().uuidString)"),
            q = URL(fileURLWithPath: "/tmp/q-\(UUID().uuidString)")
        try StoreFixture.bytes("big", count: 1_500_000).write(to: big)
        try StoreFixture.bytes("q", count: 900_000).write(to: q)
        _ = try await f.store.add(big, name: "big", takenAt: f.clock.now)
        seen(await f.store.run(.manual).uploaded)
        f.clock.pass(days: 31)
        try await TieredPhotoStore.leave(q, name: "q", takenAt: f.clock.now, inInboxOf: f.folder)
        for _ in 0..<3 {
            f.clock.pass(days: 1)
            let r = await f.store.freeSpace(.perform)
            seen(r.evicted, r.stoppedBy as Any)
        }
        #expect(f.photoFiles.isEmpty || f.photoFiles.count == 1)
        #expect(f.remote.account().objects.count == 2)
    }

    @Test func `photos that come back are found again`() async throws {
        let f = try StoreFixture()
        let ids = try await f.addOld("p", "q")
        try await f.store.pin(ids[0])
        _ = await f.store.run(.manual)
        // the file of a proven photo goes behind the store's back, and the object with it, later back
        let before = f.remote.account().objects
        try await f.store.pin(ids[0], false)
        f.remote.change { $0.objects = [:] }
        f.clock.pass(days: 8)
        seen(await f.store.run(.manual).alarms)
        f.remote.change { $0.objects = before }
        for _ in 0..<3 {
            f.clock.pass(days: 8); let r = await f.store.run(.manual); seen(r.alarms.map(\.kind), r.stoppedBy as Any)
        }
        for kind in TierAlarm.Kind.allCases { try await f.store.dismissAlarm(kind) }
        for _ in 0..<3 { f.clock.pass(days: 8); _ = await f.store.run(.manual) }
        #expect(try await f.read(ids[0]) == f.bytes["p"])
        #expect(try await f.read(ids[1]) == f.bytes["q"])
    }
}

@Suite(.serialized) struct CopiedFolderTests {
    func key(_ name: String) -> String { MD5.hash([UInt8](StoreFixture.bytes(name))).hexadecimal }

    /// The restored copy removes, the first phone is idle.
    @Test func `the phone that a folder was copied from keeps its photos, too`() async throws {
        let remote = ScriptedStore()
        let a = try StoreFixture(remote: remote, device: "a")
        try await a.add("p")
        _ = await a.store.run(.manual)
        a.clock.pass(days: 31)
        seen(await a.store.run(.manual).evicted)
        let b = try StoreFixture(remote: remote, device: "b")
        try await b.store.releaseLock()
        try FileManager.default.removeItem(at: b.folder)
        try await a.store.releaseLock()
        try FileManager.default.copyItem(at: a.folder, to: b.folder)
        try await b.relaunch()
        try await b.store.remove(name: "p")
        for _ in 0..<4 {
            seen(await b.store.run(.manual).deleted); _ = await a.store.run(.manual); a.clock.pass(days: 1.01)
        }
        let id = try #require(try await a.store.photo(named: "p"))
        #expect((try? await a.read(id)) == a.bytes["p"])
    }

    /// The catalog alone comes back from a backup, the photos left since.
    @Test func `an old backup of the folder on the same phone loses nothing`() async throws {
        let f = try StoreFixture()
        try await f.add("p"); try await f.add("q")
        _ = await f.store.run(.manual)
        try await f.store.releaseLock()
        let copy = f.files.appendingPathComponent("backup")
        try FileManager.default.copyItem(at: f.folder, to: copy)
        try await f.add("r")
        f.clock.pass(days: 31)
        seen(await f.store.run(.manual).evicted)
        try await f.store.remove(name: "q")
        try await f.store.releaseLock()
        try FileManager.default.removeItem(at: f.folder)
        try FileManager.default.copyItem(at: copy, to: f.folder)
        try FileManager.default.removeItem(at: f.folder.appendingPathComponent("photos"))
        try await f.relaunch()
        for _ in 0..<4 {
            let r = await f.store.run(.manual); seen(r.evicted, r.failures.count, r.stoppedBy as Any);
            f.clock.pass(days: 1.1)
        }
        let id = try #require(try await f.store.photo(named: "p"))
        #expect(try await f.read(id) == f.bytes["p"])
        _ = try await f.store.rebuildCatalog()
        let r = try #require(try await f.store.photo(named: "r"))
        #expect(try await f.read(r) == f.bytes["r"])
    }

    /// Removed and added again within the 48 h, the run killed in between, two devices.
    @Test func `a photo that is removed and added again around its deletion is kept`() async throws {
        let remote = ScriptedStore()
        let a = try StoreFixture(remote: remote, device: "a")
        let b = try StoreFixture(remote: remote, device: "b")
        try await a.add("p")
        _ = await a.store.run(.manual)
        for n in 0..<6 {
            try await a.store.remove(name: "p")
            _ = await a.store.run(.manual)
            a.clock.pass(days: Double(n) * 0.5 + 0.5)
            if n % 2 == 0 { try await b.add("p"); _ = await b.store.run(.manual); try await b.store.remove(name: "p") }
            try await a.add("p")
            let free = await a.store.freeSpace(.perform)
            _ = await b.store.run(.manual)
            a.clock.pass(days: 1.3)
            _ = await b.store.run(.manual)
            let id = try #require(try await a.store.photo(named: "p"))
            let ok = (try? await a.read(id)) == a.bytes["p"]
            seen(n, free.evicted, free.stoppedBy as Any, ok)
            #expect(ok)
            a.clock.pass(days: 8)
        }
    }

    /// A removal before the import left the source comes back with the next migration.
    @Test func `a removal during a rebuild stays a removal`() async throws {
        let gate = Gate()
        let f = try StoreFixture(gate: { call, moment in if call.kind == .list, moment == .after { await gate.pass() } }
        )
        try await f.add("p")
        _ = await f.store.run(.manual)
        let store = f.store
        let rebuild = Task { try await store.rebuildCatalog() }
        await gate.arrived()
        try await store.remove(name: "p")
        await gate.open()
        _ = try await rebuild.value
        seen(try await store.photo(named: "p") as Any, try await store.thumbnails(limit: 5).count)
        #expect(try await store.thumbnails(limit: 5).isEmpty)
    }
}

@Suite(.serialized) struct StrangeDateTests {
    @Test func `a date beyond all calendars ends no run`() async throws {
        let f = try StoreFixture()
        let file = try f.write("x", StoreFixture.bytes("x"))
        try await TieredPhotoStore.leave(
            file, name: "x", takenAt: Date(timeIntervalSince1970: 1e17), inInboxOf: f.folder)
        let r = await f.store.run(.manual)
        seen(r)
    }
}

/// What a reader of a failure wants to know is at hand in the debugger; the calls in it count.
private func seen(_ values: Any...) {}
