import CloakroomCrypto
import CloakroomKit
import Foundation

/// What a vault holds.
enum VaultContent: Equatable {
    case nothing
    case key([UInt8])
    /// Damaged.
    case useless
}

/// Keys that a later version of the library has written are not lost: they must not be replaced.
///
/// - Parameter version: the first byte of what holds them.
func refuseLaterVersion(of version: UInt8?, _ known: UInt8) throws(CloakroomError) {
    guard let version, version > known else { return }
    throw CloakroomError(
        .laterVersion, "the keys of messages are of version \(version), and this app knows \(known): update the app")
}

extension KeyVault {
    private static var version: UInt8 { 1 }

    /// The master key.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/laterVersion`` for a value that a later version has written,
    ///   and what the vault throws.
    func master() async throws(CloakroomError) -> VaultContent {
        let value: Data?
        do { value = try await load() } catch { throw CloakroomError(of: error, otherwise: .storeFailed, "the vault") }
        guard let value else { return .nothing }
        try refuseLaterVersion(of: value.first, Self.version)
        guard value.first == Self.version, value.count == 1 + SealingKey.byteCount else { return .useless }
        return .key(Array(value.dropFirst()))
    }

    func store(master: SealingKey) async throws(CloakroomError) {
        do { try await store(Data([Self.version] + master.reveal())) } catch {
            throw CloakroomError(of: error, otherwise: .storeFailed, "the vault")
        }
    }
}
