import CloakroomKit
import CloakroomKitTestSupport
import CloakroomMessages
import Foundation
import Testing

@Suite struct FileKeyVaultTests {
    private let place: SealingFolder
    private let value = Data("the master key".utf8)

    init() throws { place = try SealingFolder() }

    private var vault: FileKeyVault { FileKeyVault(folder: place.url.appendingPathComponent("app/vault")) }
    private let file = "app/vault/messages.master"

    @Test func `a value is there for the next process, until it is erased`() async throws {
        #expect(try await vault.load() == nil)
        #expect(!FileManager.default.fileExists(atPath: place.path("app")))
        try await vault.erase()
        try await vault.store(Data("former".utf8))
        try await vault.store(value)
        #expect(try await vault.load() == value)
        #expect(try await vault.load() == value)
        try await vault.erase()
        #expect(try await vault.load() == nil)
        #expect(try place.names(in: "app/vault") == [])
    }

    @Test func `only the user of the system can read it`() async throws {
        try FileManager.default.createDirectory(
            atPath: place.path("app/vault"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try await vault.store(value)
        #expect(try [place.mode("app/vault"), place.mode(file)] == [0o700, 0o600])
        #expect(try place.names(in: "app/vault") == ["messages.master"])
    }

    @Test func `zeros are written over a former value, and over one that is erased`() async throws {
        try await vault.store(Data("former".utf8))
        // Another name of the same file shows what becomes of its content.
        try FileManager.default.linkItem(atPath: place.path(file), toPath: place.path("former"))
        try await vault.store(value)
        #expect(place.content("former") == Data(count: 6))
        try FileManager.default.linkItem(atPath: place.path(file), toPath: place.path("last"))
        try await vault.erase()
        #expect(place.content("last") == Data(count: value.count))
    }

    @Test func `what a killed process left is erased, too`() async throws {
        try await vault.store(value)
        for (remains, copy) in [("\(file).new-17", "a"), ("\(file).former", "b")] {
            place.put(Data("remains".utf8), at: remains)
            try FileManager.default.linkItem(atPath: place.path(remains), toPath: place.path(copy))
        }
        #expect(try await vault.load() == value)
        #expect(try place.names(in: "app/vault") == ["messages.master"])
        #expect(place.content("a") == Data(count: 7) && place.content("b") == Data(count: 7))
    }

    @Test func `a process that was killed before the new value had its name loses nothing`() async throws {
        try await vault.store(value)
        try FileManager.default.linkItem(atPath: place.path(file), toPath: place.path("\(file).former"))
        #expect(try await vault.load() == value)
        #expect(try place.names(in: "app/vault") == ["messages.master"])
        try FileManager.default.linkItem(atPath: place.path(file), toPath: place.path("\(file).former"))
        try await vault.store(Data("new".utf8))
        #expect(try await vault.load() == Data("new".utf8))
    }

    @Test func `a link is not followed, and what it leads to is left alone`() async throws {
        try await vault.store(value)
        try FileManager.default.moveItem(atPath: place.path(file), toPath: place.path("elsewhere"))
        try FileManager.default.createSymbolicLink(
            atPath: place.path(file), withDestinationPath: place.path("elsewhere"))
        #expect(await CloakroomError.codeOf { _ = try await vault.load() } == .storeFailed)
        try await vault.store(Data("new".utf8))
        #expect(try await vault.load() == Data("new".utf8))
        #expect(place.content("elsewhere") == value)
        try FileManager.default.removeItem(atPath: place.path(file))
        try FileManager.default.createSymbolicLink(
            atPath: place.path(file), withDestinationPath: place.path("elsewhere"))
        try await vault.erase()
        #expect(place.content("elsewhere") == value)
        #expect(try place.names(in: "app/vault") == [])
    }

    @Test func `a link in the folder's place is refused`() async throws {
        try FileManager.default.createDirectory(atPath: place.path("elsewhere"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: place.path("app"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: place.path("app/vault"), withDestinationPath: place.path("elsewhere"))
        #expect(await CloakroomError.codeOf { try await vault.store(value) } == .storeFailed)
        #expect(await CloakroomError.codeOf { _ = try await vault.load() } == .storeFailed)
        #expect(try place.names(in: "elsewhere") == [])
    }

    @Test(arguments: [0o640, 0o604, 0o622])
    func `a file that others can access is an error, not a loss`(mode: Int) async throws {
        try await vault.store(value)
        #expect(chmod(place.path(file), mode_t(mode)) == 0)
        #expect(await CloakroomError.codeOf { _ = try await vault.load() } == .storeFailed)
        #expect(place.content(file) == value)
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func `on a full disk the former value stays`() async throws {
        let disk = try SmallDisk(byteCount: 65_536, at: place.url.appendingPathComponent("app"))
        defer { disk.unmount() }
        try await vault.store(value)
        try disk.fill()
        #expect(await CloakroomError.codeOf { try await vault.store(Data(count: 33)) } == .diskFull)
        #expect(try await vault.load() == value)
        #expect(try place.names(in: "app/vault") == ["messages.master"])
        try await vault.erase()
        #expect(try await vault.load() == nil)
    }
}
