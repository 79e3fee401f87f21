import CloakroomCrypto
import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct SealedAttachmentsTests {
    private let place: SealingFolder
    private let files: SealedAttachments
    private let key = SealingKey.random()
    private let context = SealingContext(conversation: 3, message: 9)
    private let file = SealedAttachments.newFile()

    private static let chunk = SealedAttachments.chunkByteCount
    private static let sealedChunk = SealedAttachments.sealedChunkByteCount

    init() throws {
        place = try SealingFolder()
        files = SealedAttachments(in: place.url.appendingPathComponent("attachments"))
    }

    private func bytes(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 5) }) }

    private var name: String { "attachments/\(file.rawValue)" }

    private func read() throws -> Data { try files.data(of: file, key: key, context: context) }

    private func fails(_ work: () throws -> Data) {
        let error = #expect(throws: CloakroomError.self) { try work() }
        #expect(error?.code == .unreadableFile)
    }

    @Test(arguments: [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 5])
    func `gives back what was sealed, whatever its length`(count: Int) throws {
        let content = bytes(count)
        try files.write(content, to: file, key: key, context: context)
        #expect(try read() == content)
        let chunks = max(1, (count + Self.chunk - 1) / Self.chunk)
        let sealed = try #require(place.content(name))
        #expect(sealed.count == 1 + count + chunks * 28)
        if count > 64 { #expect(sealed.range(of: content.prefix(64)) == nil) }
        #expect(try place.mode(name) == 0o600)
        #expect(try place.mode("attachments") == 0o700)
        #expect(try place.names(in: "attachments") == [file.rawValue])
    }

    @Test func `a file of the app's is sealed without being in memory as a whole`() throws {
        let content = bytes(5 * Self.chunk + 77)
        place.put(content, at: "photo")
        try files.write(
            contentsOf: place.url.appendingPathComponent("photo"), to: file, key: key, context: context)
        var count = 0
        try files.read(file, key: key, context: context) { chunk in
            #expect(chunk.count <= Self.chunk)
            #expect(chunk.elementsEqual(content.dropFirst(count).prefix(chunk.count)))
            count += chunk.count
        }
        #expect(count == content.count)
        let none = place.url.appendingPathComponent("none")
        let error = #expect(throws: CloakroomError.self) {
            try files.write(contentsOf: none, to: SealedAttachments.newFile(), key: key, context: context)
        }
        #expect(error?.code == .unreadableFile)
        #expect(try place.names(in: "attachments") == [file.rawValue])
    }

    @Test(arguments: [4093, chunk - 1, chunk, chunk + 1, 3 * chunk])
    func `bytes that come in pieces of any length are on the disk before more are read`(piece: Int) throws {
        let content = bytes(8 * Self.chunk)
        var given = 0
        try files.write(to: file, key: key, context: context) { () throws(CloakroomError) in
            let names = (try? place.names(in: "attachments")) ?? []
            let written = names.first.flatMap { place.content("attachments/\($0)") }?.count ?? 0
            #expect(given - written <= Self.chunk)
            let next = content.dropFirst(given).prefix(piece)
            given += next.count
            return Array(next)
        }
        #expect(try read() == content)
    }

    @Test func `a file that was cut anywhere does not open`() throws {
        try files.write(bytes(2 * Self.chunk + 100), to: file, key: key, context: context)
        let sealed = try #require(place.content(name))
        let cuts = [0, 1, 2, 29, Self.sealedChunk, 1 + Self.sealedChunk, 1 + 2 * Self.sealedChunk, sealed.count - 1]
        for count in cuts {
            place.put(sealed.prefix(count), at: name)
            fails { try read() }
        }
        for more in [Data([0]), sealed.suffix(128), sealed.dropFirst()] {
            place.put(sealed + more, at: name)
            fails { try read() }
        }
        place.put(sealed, at: name)
        #expect(try read().count == 2 * Self.chunk + 100)
    }

    @Test func `each byte that was changed is noticed`() throws {
        try files.write(bytes(40), to: file, key: key, context: context)
        let sealed = try #require(place.content(name))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x10
            place.put(changed, at: name)
            fails { try read() }
        }
    }

    @Test func `chunks that were exchanged, repeated, left out or taken from another file do not open`() throws {
        let other = SealedAttachments.newFile()
        try files.write(bytes(3 * Self.chunk), to: file, key: key, context: context)
        try files.write(bytes(3 * Self.chunk), to: other, key: key, context: context)
        let sealed = try #require(place.content(name))
        let theirs = try #require(place.content("attachments/\(other.rawValue)"))
        func chunk(_ number: Int, of file: Data) -> Data {
            file.dropFirst(1 + number * Self.sealedChunk).prefix(Self.sealedChunk)
        }
        let ours = (0..<3).map { chunk($0, of: sealed) }
        let version = sealed.prefix(1)
        for chunks in [
            [ours[1], ours[0], ours[2]], [ours[0], ours[0], ours[2]], [ours[0], ours[2]], [ours[1], ours[2]],
            [ours[0], ours[1]], [ours[0], chunk(1, of: theirs), ours[2]], [ours[0], ours[1], ours[2], ours[2]],
        ] {
            place.put(chunks.reduce(version, +), at: name)
            fails { try read() }
        }
        place.put(ours.reduce(version, +), at: name)
        #expect(try read() == bytes(3 * Self.chunk))
    }

    @Test func `a file opens for its message, by its name and with its key only`() throws {
        try files.write(bytes(100), to: file, key: key, context: context)
        fails { try files.data(of: file, key: .random(), context: context) }
        for other in [SealingContext(conversation: 3, message: 8), SealingContext(conversation: 4, message: 9)] {
            fails { try files.data(of: file, key: key, context: other) }
        }
        let other = SealedAttachments.newFile()
        fails { try files.data(of: other, key: key, context: context) }
        try FileManager.default.moveItem(
            atPath: place.path(name), toPath: place.path("attachments/\(other.rawValue)"))
        fails { try files.data(of: other, key: key, context: context) }
    }

    @Test func `a writer that fails or is cancelled leaves nothing`() async throws {
        var pieces = 0
        #expect(throws: KeyFixture.failure) {
            try files.write(to: file, key: key, context: context) { () throws(CloakroomError) in
                pieces += 1
                if pieces == 4 { throw KeyFixture.failure }
                return [UInt8](repeating: 1, count: Self.chunk)
            }
        }
        #expect(try place.names(in: "attachments") == [])
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try files.write(bytes(10), to: file, key: key, context: context)
        }
        #expect(await CloakroomError.codeOf { try await cancelled.value } == .cancelled)
        #expect(try place.names(in: "attachments") == [])
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func `on a full disk there is no file, and the others stay`() throws {
        let disk = try SmallDisk(byteCount: 524_288, at: place.url.appendingPathComponent("attachments"))
        defer { disk.unmount() }
        try files.write(bytes(100_000), to: file, key: key, context: context)
        let error = #expect(throws: CloakroomError.self) {
            try files.write(bytes(600_000), to: SealedAttachments.newFile(), key: key, context: context)
        }
        #expect(error?.code == .diskFull)
        #expect(try place.names(in: "attachments") == [file.rawValue])
        #expect(try read() == bytes(100_000))
    }

    @Test func `a link in a file's place is not followed`() throws {
        try files.write(bytes(100), to: file, key: key, context: context)
        try FileManager.default.moveItem(atPath: place.path(name), toPath: place.path("elsewhere"))
        try FileManager.default.createSymbolicLink(
            atPath: place.path(name), withDestinationPath: place.path("elsewhere"))
        let error = #expect(throws: CloakroomError.self) { try read() }
        #expect(error?.code == .storeFailed)
        try files.remove(file)
        #expect(try place.names(in: "attachments") == [] && place.content("elsewhere") != nil)
    }

    @Test func `files that no row names are removed, with what killed writers left`() throws {
        let orphan = SealedAttachments.newFile()
        for file in [file, orphan] { try files.write(bytes(10), to: file, key: key, context: context) }
        place.put(Data([1]), at: "\(name).new-17")
        #expect(try files.removeAll(except: [file]) == 2)
        #expect(try place.names(in: "attachments") == [file.rawValue])
        try files.remove(file)
        try files.remove(file)
        #expect(try place.names(in: "attachments") == [])
    }

    @Test func `a file is sealed anew with another key, under another name`() throws {
        let content = bytes(2 * Self.chunk + 1)
        try files.write(content, to: file, key: key, context: context)
        let new = SealedAttachments.newFile()
        let shorter = SealingKey.random()
        try files.reseal(file, as: new, context: context, from: key, to: shorter)
        #expect(try files.data(of: new, key: shorter, context: context) == content)
        #expect(try read() == content)
        fails { try files.data(of: new, key: key, context: context) }
        // One that is damaged becomes no new one.
        var sealed = try #require(place.content(name))
        sealed[sealed.count - 1] ^= 1
        place.put(sealed, at: name)
        let third = SealedAttachments.newFile()
        let error = #expect(throws: CloakroomError.self) {
            try files.reseal(file, as: third, context: context, from: key, to: shorter)
        }
        #expect(error?.code == .unreadableFile)
        #expect(try place.names(in: "attachments") == [file, new].map(\.rawValue).sorted())
    }

    @Test func `names are never the same`() {
        #expect(Set((0..<1000).map { _ in SealedAttachments.newFile() }).count == 1000)
    }
}
