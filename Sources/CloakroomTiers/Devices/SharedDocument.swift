import CloakroomCrypto
import CloakroomKit
import Foundation

/// A document as it is in the tier: JSON with a version, and a digest of its content, see ``SealedDocument``.
///
/// It comes from other devices, so each one is checked as a stranger's: what cannot be read is an error that stops
/// eviction and deletion, and is never taken for an empty document.
protocol SharedDocument: Codable, Sendable {}

extension SharedDocument {
    /// - Throws: ``CloakroomError/Code/storeFailed`` for a document of a newer version, a damaged one, and one that is
    ///   larger than any of ours.
    init(_ bytes: Data, named name: String) throws(CloakroomError) {
        guard bytes.count <= SharedDocumentRules.maximumBytes else { throw Self.tooLarge(name) }
        do {
            self = try JSONDecoder().decode(Self.self, from: try SealedDocument.content(of: bytes, named: name))
        } catch let error as CloakroomError {
            throw error
        } catch {
            throw SealedDocument.damaged(name)
        }
    }

    func encoded() throws(CloakroomError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return SealedDocument.bytes(of: try encoder.encode(self)) } catch {
            throw CloakroomError(.storeFailed, "a document for the user's other devices cannot be written: \(error)")
        }
    }

    static func tooLarge(_ name: String) -> CloakroomError {
        CloakroomError(.storeFailed, "\(name) is larger than any document of a device")
    }
}

enum SharedDocumentRules {
    /// Of one that is read; those written have a quarter of it, see ``SnapshotDocument/preferredBytes``.
    static let maximumBytes = 4 << 20
    /// Of all devices together.
    static let maximumDocuments = 50_000
}

/// Bytes as hexadecimal digits, of exactly the count that is expected.
func bytes(hexadecimal text: String, counts: [Int]) -> [UInt8]? {
    guard counts.contains(text.utf8.count / 2), let bytes = [UInt8](hexadecimal: text.utf8) else { return nil }
    return counts.contains(bytes.count) ? bytes : nil
}
