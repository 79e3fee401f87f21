import CloakroomAWS
import CloakroomCrypto
import Foundation

/// How the bytes of an object are known to be those that were stored.
///
/// The entity tag of an object stored by one PUT is its MD5. For a multipart upload by this kit, it is the MD5 of the
/// parts' MD5s, and the object's metadata have the part size. Where S3 encrypts with a KMS key, the tag is neither; for
/// another client's multipart upload, the part size is unknown. Then only the caller's MD5 and the number of bytes can be
/// checked. A SHA-256 that the caller knows is checked in place of all that.
enum ObjectCheck: Sendable, Equatable {
    /// In hexadecimal.
    case md5(String)
    case sha256([UInt8])
    /// The MD5 of the MD5s of parts so long.
    case parts(md5: String, size: Int)
    case byteCount

    /// - Parameter known: what the caller knows.
    init(_ object: StoredObject, byteCount: Int64, known: KnownBytes) {
        let name = ObjectFields.prefix + ObjectFields.partSize
        if let sha256 = known.sha256 {
            self = .sha256(sha256)
        } else if let md5 = known.md5?.hexadecimal ?? object.md5 {
            self = .md5(md5)
        } else if let tag = object.partsMD5, let size = object.fields[name].flatMap({ Int($0) }), size > 0,
            FilePartLayout(byteCount: byteCount, partSize: size).count == tag.count
        {
            self = .parts(md5: tag.md5, size: size)
        } else {
            self = .byteCount
        }
    }

    /// - Parameters:
    ///   - byteCount: of the object.
    ///   - pieces: supplies the bytes, in order.
    /// - Returns: whether they are the object's.
    func isMet(
        by byteCount: Int64, _ pieces: (_ take: (UnsafeRawBufferPointer) -> Void) throws(CloakroomError) -> Void
    ) throws(CloakroomError) -> Bool {
        var count: Int64 = 0
        var whole = MD5()
        var sha256 = SHA256()
        // Of parts, and of their MD5s.
        var part = MD5()
        var partLength = 0
        var all = MD5()
        try pieces { piece in
            count += Int64(piece.count)
            switch self {
            case .md5: whole.update(piece)
            case .sha256: sha256.update(piece)
            case .parts(_, let size):
                var rest = piece[...]
                while !rest.isEmpty {
                    let taken = rest.prefix(size - partLength)
                    part.update(UnsafeRawBufferPointer(rebasing: taken))
                    partLength += taken.count
                    rest = rest.dropFirst(taken.count)
                    guard partLength == size else { continue }
                    all.update(part.finalize())
                    partLength = 0
                }
            case .byteCount: break
            }
        }
        if partLength > 0 { all.update(part.finalize()) }
        guard count == byteCount else { return false }
        return switch self {
        case .md5(let md5): whole.finalize().hexadecimal == md5
        case .sha256(let digest): sha256.finalize() == digest
        case .parts(let md5, _): all.finalize().hexadecimal == md5
        case .byteCount: true
        }
    }
}

/// What a caller knows of an object's bytes; `nil` for what it does not.
package struct KnownBytes: Sendable, Equatable {
    /// 16 bytes.
    package var md5: [UInt8]?
    /// 32 bytes.
    package var sha256: [UInt8]?
    package var byteCount: Int64?

    package init(md5: [UInt8]? = nil, sha256: [UInt8]? = nil, byteCount: Int64? = nil) {
        self.md5 = md5
        self.sha256 = sha256
        self.byteCount = byteCount
    }
}
