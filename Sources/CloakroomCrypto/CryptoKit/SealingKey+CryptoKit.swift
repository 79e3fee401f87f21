#if canImport(CryptoKit)
    import CryptoKit

    extension SealingKey {
        /// - Parameter nonce: 12 bytes that this key has never seen.
        func seal(_ message: [UInt8], context: [UInt8], nonce: [UInt8]) -> [UInt8] {
            precondition(nonce.count == Self.nonceByteCount, "a nonce has 12 bytes")
            do {
                let box = try AES.GCM.seal(
                    message, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: nonce), authenticating: context)
                return nonce + box.ciphertext + box.tag
            } catch {
                preconditionFailure("AES-256-GCM failed")
            }
        }

        /// - Returns: the message; `nil` when it was sealed with another key or another context, or changed since.
        package func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
            guard sealed.count >= Self.nonceByteCount + Self.tagByteCount,
                let box = try? AES.GCM.SealedBox(combined: sealed),
                let message = try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context)
            else { return nil }
            return Array(message)
        }
    }
#endif
