import CloakroomCrypto
import CloakroomKit
import Foundation
import Testing

@testable import CloakroomMessages

/// A device with a folder of keys and a vault; each process on it opens them anew.
struct KeyFixture: Sendable {
    let place: SealingFolder
    let vault = ScriptedVault()
    let path: String

    static let kept = MessageKeyID(conversation: 1, slot: .endless)
    static let dropped = MessageKeyID(conversation: 1, slot: DeadlineSlot(rawValue: 1_790_000_100))
    static let later = MessageKeyID(conversation: 2, slot: DeadlineSlot(rawValue: 1_790_000_325))

    static let failure = CloakroomError(.storeFailed, "as the script says")
    static let locked = CloakroomError(.vaultLocked, "as the script says")
    /// What a process that is killed leaves.
    static let killed = CloakroomError(.cancelled, "killed")

    init() throws {
        place = try SealingFolder()
        path = place.path("keys")
    }

    func open(
        beginsAnew: Bool = true
    ) async throws(CloakroomError) -> (keys: MessageKeys, origin: MessageKeys.Origin) {
        try await MessageKeys.open(in: path, vault: vault, beginsAnew: beginsAnew)
    }

    /// - Returns: keys that were stored, of which some process before has made these.
    func stored() async throws -> MessageKeys {
        let (keys, origin) = try await open(beginsAnew: false)
        #expect(origin == .stored)
        return keys
    }

    func begin(_ ids: [MessageKeyID] = [kept, dropped]) async throws -> MessageKeys {
        let (keys, origin) = try await open()
        #expect(origin == .new)
        try keys.prepare(ids)
        return keys
    }

    /// All files, as somebody who copies the disk has them.
    func files() throws -> [[UInt8]] {
        try place.names(in: "keys").compactMap { place.content("keys/\($0)").map { Array($0) } }
    }

    /// Whether one of these files has the key, and opens with what the vault holds now.
    func finds(_ id: MessageKeyID, in files: [[UInt8]]) async -> Bool {
        guard let value = await vault.value, let master = SealingKey(Array(value.dropFirst())) else { return false }
        return files.contains { MessageKeyTable($0, under: master)?[id] != nil }
    }
}

extension CloakroomError {
    /// - Returns: the code of what was thrown; `nil` when nothing was.
    static func codeOf(_ work: () async throws -> Void) async -> Code? {
        do { try await work() } catch { return (error as? CloakroomError)?.code ?? .unknown }
        return nil
    }
}
