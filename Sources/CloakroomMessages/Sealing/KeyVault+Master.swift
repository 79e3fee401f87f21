import CloakroomCrypto
import CloakroomKit
import Foundation

/// What a vault holds.
enum VaultContent: Equatable {
    case nothing
    case key([UInt8])
    /// Of a later version, or damaged.
    case useless
}

extension KeyVault {
    private static var version: UInt8 { 1 }

    /// The master key.
    func master() async throws(CloakroomError) -> VaultContent {
        let value: Data?
        do { value = try await load() } catch { throw CloakroomError(of: error, otherwise: .storeFailed, "the vault") }
        guard let value else { return .nothing }
        guard value.first == Self.version, value.count == 1 + SealingKey.byteCount else { return .useless }
        return .key(Array(value.dropFirst()))
    }

    func store(master: SealingKey) async throws(CloakroomError) {
        do { try await store(Data([Self.version] + master.reveal())) } catch {
            throw CloakroomError(of: error, otherwise: .storeFailed, "the vault")
        }
    }
}
