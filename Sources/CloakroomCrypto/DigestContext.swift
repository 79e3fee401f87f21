/// The digests that take bytes in pieces.
enum IncrementalDigest {
    case md5, sha256
}

extension DigestContext {
    mutating func update(_ bytes: some Collection<UInt8>) {
        let whole: Void? = bytes.withContiguousStorageIfAvailable { unsafe update(UnsafeRawBufferPointer($0)) }
        if whole == nil { unsafe Array(bytes).withUnsafeBytes { unsafe update($0) } }
    }
}
