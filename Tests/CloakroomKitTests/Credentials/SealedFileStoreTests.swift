import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct SealedFileStoreTests {
    private let place: TemporaryFolder
    private let record = StoredCredentials(bytes: Data("secret access key".utf8))

    init() throws { place = try TemporaryFolder() }

    private var folder: URL { place.url.appendingPathComponent("app/credentials") }
    private var file: String { folder.appendingPathComponent("credentials.sealed").path }
    private var key: String { folder.appendingPathComponent("credentials.key").path }

    private func store(_ owner: StoreOwner = .test, key: Data? = nil) -> SealedFileCredentialStore {
        SealedFileCredentialStore(folder: folder, owner: owner, key: key)
    }

    private func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }

    private func put(_ data: Data, at path: String, mode: Int = 0o600) {
        #expect(FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: mode]))
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test(arguments: [nil, Data("the app's own".utf8)] as [Data?])
    func `what was saved is there for the next one`(key: Data?) async throws {
        try await store(key: key).save(StoredCredentials(bytes: Data("older".utf8)))
        try await store(key: key).save(record)
        #expect(try await store(key: key).load() == record)
        #expect(try await store(key: key).load() == record)
        try await store(key: key).clear()
        #expect(try await store(key: key).load() == nil)
    }

    @Test func `only the user of the system can read it, and it says nothing`() async throws {
        try await store().save(record)
        #expect(try [mode(folder.path), mode(file), mode(key)] == [0o700, 0o600, 0o600])
        #expect(try names() == ["credentials.key", "credentials.sealed"])
        let bytes = try #require(contents(file))
        #expect(bytes.range(of: record.bytes) == nil)
        #expect(bytes.count == 1 + 12 + 32 + record.bytes.count + 16)
    }

    @Test func `a folder that others can enter is shut to them`() async throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try await store().save(record)
        #expect(try mode(folder.path) == 0o700)
    }

    @Test func `without a folder there is nothing, and none is made`() async throws {
        #expect(try await store().load() == nil)
        try await store().clear()
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test(arguments: [nil, Data("the app's own".utf8)] as [Data?])
    func `another owner's file is refused, and stays`(key: Data?) async throws {
        let others = StoreOwner(user: "u_1", endpoint: try #require(URL(string: "https://staging.example")))
        try await store(key: key).save(record)
        for owner in [.next, others] {
            let other = store(owner, key: key)
            let works: [() async throws -> Void] = [
                { _ = try await other.load() }, { try await other.save(record) }, { try await other.clear() },
            ]
            for work in works {
                let error = await #expect(throws: CloakroomError.self) { try await work() }
                #expect(error?.code == .storeOwnerMismatch)
            }
        }
        #expect(try await store(key: key).load() == record)
    }

    @Test func `a file of the version that named no endpoint is taken away`() async throws {
        try await store(key: Data("k".utf8)).save(record)
        let key = SealingKey(from: Array("k".utf8), purpose: "Cloakroom credentials")
        let sealed = key.seal(Array(record.bytes), context: Array("Cloakroom credentials\nu_1".utf8))
        put(Data([1] + sealed), at: file)
        #expect(try await store(key: Data("k".utf8)).load() == nil)
        #expect(try names() == [])
    }

    @Test(arguments: [3, 4, 255] as [UInt8])
    func `a file of a later version is refused, and stays as it is`(version: UInt8) async throws {
        try await store().save(record)
        let later = Data([version]) + Data((0..<200).map { UInt8(truncatingIfNeeded: $0) })
        put(later, at: file)
        let store = store()
        let record = record
        for operation in [
            { _ = try await store.load() }, { try await store.save(record) }, { try await store.clear() },
        ] as [@Sendable () async throws -> Void] {
            let error = await #expect(throws: CloakroomError.self) { try await operation() }
            #expect(error?.code == .laterVersion)
            #expect(contents(file) == later)
        }
    }

    @Test func `another key does not open it`() async throws {
        try await store(key: Data("one".utf8)).save(record)
        #expect(try await store(key: Data("two".utf8)).load() == nil)
        #expect(try names() == [])
    }

    @Test func `without its key a file is nothing`() async throws {
        try await store().save(record)
        try FileManager.default.removeItem(atPath: key)
        #expect(try await store().load() == nil)
        #expect(try names() == [])
    }

    @Test func `a file cut anywhere is nothing, and is taken away`() async throws {
        try await store().save(record)
        let whole = try #require(contents(file))
        for count in 0..<whole.count {
            put(whole.prefix(count), at: file)
            #expect(try await store().load() == nil)
            #expect(try names() == ["credentials.key"])
        }
        put(whole, at: file)
        #expect(try await store().load() == record)
    }

    @Test func `a file changed anywhere is nothing`() async throws {
        try await store().save(record)
        let whole = try #require(contents(file))
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 1
            put(changed, at: file)
            #expect(try await store().load() == nil)
        }
        put(whole + [0], at: file)
        #expect(try await store().load() == nil)
    }

    @Test(arguments: [0, 1, 1 << 20])
    func `a file of another size is nothing`(count: Int) async throws {
        try await store().save(record)
        put(Data(count: count), at: file)
        #expect(try await store().load() == nil)
        #expect(try names() == ["credentials.key"])
    }

    @Test(arguments: [0o640, 0o604, 0o622])
    func `a file that others could read or write is nothing, and is taken away`(mode: Int) async throws {
        try await store().save(record)
        put(try #require(contents(file)), at: file, mode: mode)
        #expect(try await store().load() == nil)
        #expect(try names() == ["credentials.key"])
    }

    @Test(arguments: [(Data(count: 32), 0o644), (Data(count: 31), 0o600), (Data(), 0o600), (Data(count: 33), 0o600)])
    func `a key that is none, or that others could read, is replaced`(bytes: Data, mode: Int) async throws {
        try await store().save(record)
        put(bytes, at: key, mode: mode)
        #expect(try await store().load() == nil)
        try await store().save(record)
        #expect(try await store().load() == record)
        #expect(try self.mode(key) == 0o600)
        #expect(contents(key) != bytes)
    }

    @Test func `a link is not followed, and what it leads to is left alone`() async throws {
        try await store().save(record)
        let elsewhere = place.url.appendingPathComponent("elsewhere").path
        try FileManager.default.moveItem(atPath: file, toPath: elsewhere)
        let bytes = contents(elsewhere)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: elsewhere)
        #expect(try await store().load() == nil)
        #expect(try names() == ["credentials.key"])
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: elsewhere)
        try await store().save(record)
        #expect(try await store().load() == record)
        #expect(contents(elsewhere) == bytes)
    }

    @Test func `a link in the key's place is replaced by a key`() async throws {
        let elsewhere = place.url.appendingPathComponent("elsewhere").path
        put(Data(count: 32), at: elsewhere)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: key, withDestinationPath: elsewhere)
        try await store().save(record)
        #expect(try await store().load() == record)
        #expect(contents(elsewhere) == Data(count: 32))
        #expect(try FileManager.default.attributesOfItem(atPath: key)[.type] as? FileAttributeType == .typeRegular)
    }

    @Test func `a link in the folder's place is refused`() async throws {
        let elsewhere = place.url.appendingPathComponent("elsewhere")
        try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            at: folder.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: elsewhere)
        for work in [
            { try await store().save(record) }, { _ = try await store().load() }, { try await store().clear() },
        ]
            as [() async throws -> Void]
        {
            let error = await #expect(throws: CloakroomError.self) { try await work() }
            #expect(error?.code == .storeFailed)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path) == [])
    }

    @Test func `a pipe in the file's place holds nobody`() async throws {
        try await store().save(record)
        try FileManager.default.removeItem(atPath: file)
        #expect(mkfifo(file, 0o600) == 0)
        #expect(try await store().load() == nil)
        #expect(try names() == ["credentials.key"])
    }

    @Test func `a folder in the file's place is an error, and credentials are vended all the same`() async throws {
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
        let fake = FakeRuntime()
        let vendor = ScriptedVendor { number in .numbered(number, until: fake.time(in: .seconds(3600))) }
        let error = await #expect(throws: CloakroomError.self) { try await store().load() }
        #expect(error?.code == .storeFailed)
        let provider = CredentialProvider(vendor: vendor, store: store(), runtime: fake.runtime)
        #expect(try await provider.credentials().accessKeyID == "ASIA0")
        await fake.settle()
    }

    @Test func `what a killed writer left is taken away`() async throws {
        try await store().save(record)
        for path in [file, key] { put(Data(count: 3), at: path + ".new-17") }
        #expect(try await store().load() == record)
        #expect(try names() == ["credentials.key", "credentials.sealed"])
        put(Data(count: 3), at: file + ".new-17")
        try await store().clear()
        #expect(try names() == ["credentials.key"])
    }

    @Test func `many at once make one key, and leave one whole file`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<32 { group.addTask { try await store().save(record) } }
            try await group.waitForAll()
        }
        #expect(try await store().load() == record)
        #expect(try names() == ["credentials.key", "credentials.sealed"])
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `on a full disk the older record stays`() async throws {
        let disk = try SmallDisk(byteCount: 128 << 10, at: place.url)
        defer { disk.unmount() }
        try await store().save(record)
        try disk.fill()
        let error = await #expect(throws: CloakroomError.self) {
            try await store().save(StoredCredentials(bytes: Data(count: 60_000)))
        }
        #expect(error?.code == .diskFull)
        #expect(try names() == ["credentials.key", "credentials.sealed"])
        #expect(try await store().load() == record)
        try await store().clear()
        #expect(try await store().load() == nil)
    }

    @Test func `a restart with a real file needs no new credentials`() async throws {
        let fake = FakeRuntime()
        let vendor = ScriptedVendor { number in .numbered(number, until: fake.time(in: .seconds(3600))) }
        for pause in [0, 600, 600] {
            fake.pass(.seconds(pause))
            let provider = CredentialProvider(vendor: vendor, store: store(), runtime: fake.runtime)
            #expect(
                try await provider.credentials() == .numbered(0, until: fake.time(in: .seconds(3600) - fake.elapsed)))
            await fake.settle()
        }
        #expect(await vendor.requests == 1)
    }
}
