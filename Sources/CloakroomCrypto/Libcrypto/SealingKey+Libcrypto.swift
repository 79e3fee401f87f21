#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    extension SealingKey {
        func sealed(_ message: UnsafeBufferPointer<UInt8>, context: [UInt8], nonce: [UInt8]) -> [UInt8] {
            unsafe sealed(message, context: context, nonce: nonce, by: Cipher())
        }

        /// - Parameter cipher: one that has opened nothing.
        func sealed(
            _ message: UnsafeBufferPointer<UInt8>, context: [UInt8], nonce: [UInt8], by cipher: borrowing Cipher
        ) -> [UInt8] {
            let start = nonce.count
            let count = start + message.count + Self.tagByteCount
            return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                for index in nonce.indices { unsafe buffer[index] = nonce[index] }
                let output = unsafe UnsafeMutableBufferPointer(rebasing: buffer[start...])
                unsafe cipher.run(
                    EVP_EncryptInit_ex2, EVP_EncryptUpdate, key: key, nonce: nonce, context: context, input: message,
                    output: output)
                var none: Int32 = 0
                let finished = unsafe EVP_EncryptFinal_ex(cipher.handle, output.baseAddress! + message.count, &none)
                let tagged = unsafe EVP_CIPHER_CTX_ctrl(
                    cipher.handle, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagByteCount), output.baseAddress! + message.count)
                precondition(finished == 1 && none == 0 && tagged == 1, "AES-256-GCM failed")
                initialized = count
            }
        }

        func opened(_ sealed: UnsafeBufferPointer<UInt8>, context: [UInt8]) -> [UInt8]? {
            let count = sealed.count - Self.nonceByteCount - Self.tagByteCount
            guard count >= 0 else { return nil }
            let cipher = Cipher()
            let nonce = unsafe Array(sealed.prefix(Self.nonceByteCount))
            var tag = unsafe Array(sealed.suffix(Self.tagByteCount))
            let input = unsafe UnsafeBufferPointer(rebasing: sealed[Self.nonceByteCount...].prefix(count))
            var isGenuine = false
            let message = unsafe [UInt8](unsafeUninitializedCapacity: count + 1) { buffer, initialized in
                unsafe cipher.run(
                    EVP_DecryptInit_ex2, EVP_DecryptUpdate, key: key, nonce: nonce, context: context, input: input,
                    output: buffer)
                let tagged = unsafe EVP_CIPHER_CTX_ctrl(
                    cipher.handle, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagByteCount), &tag)
                var none: Int32 = 0
                let finished = unsafe EVP_DecryptFinal_ex(cipher.handle, buffer.baseAddress! + count, &none)
                isGenuine = tagged == 1 && finished == 1
                // Nothing of what is not genuine leaves here.
                initialized = isGenuine ? count : 0
            }
            return isGenuine ? message : nil
        }

        /// One context for one message after another.
        @safe struct Cipher: ~Copyable {
            let handle: OpaquePointer

            init() {
                guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("EVP_CIPHER_CTX_new") }
                unsafe handle = context
            }

            deinit { unsafe EVP_CIPHER_CTX_free(handle) }

            typealias Start = (
                OpaquePointer?, OpaquePointer?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<OSSL_PARAM>?
            ) -> Int32
            typealias Update = (
                OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int32>?, UnsafePointer<UInt8>?, Int32
            ) -> Int32

            /// - Parameter output: at least as long as the input; as much of it is written.
            func run(
                _ start: Start, _ update: Update, key: [UInt8], nonce: [UInt8], context: [UInt8],
                input: UnsafeBufferPointer<UInt8>, output: UnsafeMutableBufferPointer<UInt8>
            ) {
                precondition(output.count >= input.count, "no room")
                var count: Int32 = 0
                // The second time it has its algorithm: given once more, all of it would be made anew.
                let isFirst = unsafe EVP_CIPHER_CTX_get0_cipher(handle) == nil
                let started = unsafe start(handle, isFirst ? Algorithms.aes256GCM : nil, key, nonce, nil)
                let bound = unsafe context.isEmpty ? 1 : update(handle, nil, &count, context, Int32(context.count))
                let moved =
                    unsafe input.isEmpty
                    ? 1 : update(handle, output.baseAddress, &count, input.baseAddress, Int32(input.count))
                precondition(started == 1 && bound == 1 && moved == 1, "AES-256-GCM failed")
                precondition(input.isEmpty || Int(count) == input.count, "AES-256-GCM failed")
            }
        }
    }
#endif
