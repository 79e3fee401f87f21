import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct CredentialRestartTests {
    private let fake = FakeRuntime()
    private let failures = Failures()

    /// What an observer was told.
    private actor Failures {
        private(set) var codes: [String] = []

        func add(_ error: CloakroomError) { codes.append(error.code.rawValue) }
    }

    private func vendor(from first: Int = 0) -> ScriptedVendor {
        ScriptedVendor { [fake] number in .numbered(first + number, until: fake.time(in: .seconds(3600))) }
    }

    private func provider(_ vendor: ScriptedVendor, _ store: any CredentialStore) -> CredentialProvider {
        CredentialProvider(
            vendor: vendor, store: store,
            onStoreFailure: { [failures, fake] error in
                _ = fake.runtime.spawn { await failures.add(error) }
            }, runtime: fake.runtime)
    }

    /// A store that has seen credentials.
    private func used() async throws -> MemoryStore {
        let store = MemoryStore()
        _ = try await provider(vendor(), store).credentials()
        await fake.settle()
        return store
    }

    @Test(arguments: [(0, "ASIA0"), (3299, "ASIA0"), (3300, "ASIA7"), (3600, "ASIA7"), (100_000, "ASIA7")])
    func `a restart needs no new credentials while the old ones have more than the margin left`(
        pause: Int, accessKeyID: String
    ) async throws {
        let store = try await used()
        fake.pass(.seconds(pause))
        let vendor = vendor(from: 7)
        #expect(try await provider(vendor, store).credentials().accessKeyID == accessKeyID)
        #expect(await vendor.requests == (accessKeyID == "ASIA7" ? 1 : 0))
    }

    @Test func `a restart keeps the user, the prefixes and what is shared, and reads records that have none of it`()
        async throws
    {
        let expiration = fake.time(in: .seconds(3600))
        let named = VendedCredentials(
            accessKeyID: "ASIA0", secretAccessKey: "s", sessionToken: "t", expiration: expiration, region: "r",
            bucket: "b", userID: "u_1", prefixes: ["photos": "photos/u_1/"],
            shared: [.init(prefix: "photos/u_2/a/", owner: "u_2", until: expiration)])
        let store = MemoryStore()
        #expect(try await provider(ScriptedVendor { _ in named }, store).credentials() == named)
        await fake.settle()
        #expect(try await provider(vendor(from: 7), store).credentials() == named)

        let bytes = try #require(await store.record).bytes
        var record = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        record["userID"] = nil
        record["prefixes"] = nil
        record["shared"] = nil
        let earlier = MemoryStore(StoredCredentials(bytes: try JSONSerialization.data(withJSONObject: record)))
        let resumed = try await provider(vendor(from: 7), earlier).credentials()
        #expect(resumed.accessKeyID == "ASIA0" && resumed.userID == nil && resumed.prefixes == nil)
        #expect(resumed.shared.isEmpty)
    }

    @Test func `a restart does not make the old ones younger`() async throws {
        let store = try await used()
        fake.pass(.seconds(1790))
        let vendor = vendor(from: 7)
        let provider = provider(vendor, store)
        _ = try await provider.credentials()
        fake.pass(.seconds(10))
        #expect(try await provider.credentials().accessKeyID == "ASIA0")
        await fake.settle()
        #expect(try await provider.credentials().accessKeyID == "ASIA7")
    }

    @Test func `a clock that was set back meanwhile makes them useless`() async throws {
        let store = try await used()
        fake.setWallClock(ahead: .seconds(-3600))
        #expect(try await provider(vendor(from: 7), store).credentials().accessKeyID == "ASIA7")
    }

    @Test func `a thousand callers at the start read the store once`() async throws {
        let store = try await used()
        let provider = provider(vendor(from: 7), store)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await provider.credentials().accessKeyID } }
            for try await key in group { #expect(key == "ASIA0") }
        }
        #expect(await store.calls == ["load", "save", "load"])
    }

    @Test func `new ones are saved, refused ones are not kept`() async throws {
        let store = try await used()
        let provider = provider(vendor(from: 7), store)
        await provider.refuse(try await provider.credentials())
        #expect(await store.record == nil)
        _ = try await provider.credentials()
        await fake.settle()
        #expect(await store.calls == ["load", "save", "load", "clear", "save"])
        #expect(try await self.provider(vendor(from: 70), store).credentials().accessKeyID == "ASIA7")
    }

    @Test func `forgetting clears the store, also before it was read`() async throws {
        let store = try await used()
        let provider = provider(vendor(from: 7), store)
        await provider.forget()
        #expect(await store.record == nil)
        #expect(try await provider.credentials().accessKeyID == "ASIA7")
        await fake.settle()
        #expect(await store.calls == ["load", "save", "clear", "save"])
    }

    @Test func `forgetting clears what was being saved`() async throws {
        let gate = Gate()
        let store = MemoryStore(gate: gate)
        let provider = provider(vendor(), store)
        let caller = Task { try await provider.credentials() }
        try await until { await store.calls == ["load"] }
        await gate.open()
        _ = try await caller.value
        await provider.forget()
        await fake.settle()
        #expect(await store.record == nil)
        #expect(await store.calls == ["load", "save", "clear"])
    }

    @Test func `what the store had is nothing after forgetting while it was read`() async throws {
        let gate = Gate()
        let record = try await used().record
        let store = MemoryStore(record, gate: gate)
        let provider = provider(vendor(from: 7), store)
        let caller = Task { try await provider.credentials() }
        try await until { await store.calls == ["load"] }
        let forgetting = Task { await provider.forget() }
        await #expect(throws: CloakroomError(.cancelled, "The credentials were forgotten.")) {
            try await caller.value
        }
        await gate.open()
        #expect(await forgetting.value == nil)
        #expect(try await provider.credentials().accessKeyID == "ASIA7")
    }

    @Test func `a store that fails is reported, and credentials are vended all the same`() async throws {
        struct BrokenError: Error {}
        let provider = provider(vendor(), MemoryStore(error: BrokenError()))
        #expect(try await provider.credentials().accessKeyID == "ASIA0")
        await provider.refuse(try await provider.credentials())
        #expect(try await provider.credentials().accessKeyID == "ASIA1")
        #expect(await provider.forget()?.code == .storeFailed)
        await fake.settle()
        await fake.settle()
        #expect(
            await failures.codes == ["store_failed", "store_failed", "store_failed", "store_failed", "store_failed"])
    }

    @Test(arguments: ["", "{}", "null", #"{"version":2}"#, "\u{0}\u{FF}", "[[[[[[[["])
    func `nonsense in the store is nothing`(text: String) async throws {
        let store = MemoryStore(StoredCredentials(bytes: Data(text.utf8)))
        #expect(try await provider(vendor(), store).credentials().accessKeyID == "ASIA0")
        await fake.settle()
        #expect(await failures.codes == [])
    }

    @Test func `a record is a secret`() {
        let record = StoredCredentials(bytes: Data("token".utf8))
        #expect(
            ["\(record)", String(reflecting: record), "\(Mirror(reflecting: record).children.count)"]
                == ["<secret>", "<secret>", "0"])
    }
}
