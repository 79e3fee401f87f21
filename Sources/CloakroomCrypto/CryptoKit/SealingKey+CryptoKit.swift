#if canImport(CryptoKit)
    import CryptoKit

    extension SealingKey {
        func sealed(_ message: UnsafeBufferPointer<UInt8>, context: [UInt8], nonce: [UInt8]) -> [UInt8] {
            do {
                let box = unsafe try AES.GCM.seal(
                    message, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: nonce), authenticating: context)
                return nonce + box.ciphertext + box.tag
            } catch {
                preconditionFailure("AES-256-GCM failed")
            }
        }

        func opened(_ sealed: UnsafeBufferPointer<UInt8>, context: [UInt8]) -> [UInt8]? {
            guard sealed.count >= Self.nonceByteCount + Self.tagByteCount,
                let box = unsafe try? AES.GCM.SealedBox(combined: sealed),
                let message = try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context)
            else { return nil }
            return Array(message)
        }
    }
#endif
