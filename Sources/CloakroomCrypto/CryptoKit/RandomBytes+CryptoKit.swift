#if canImport(CryptoKit)
    /// - Returns: unpredictable bytes, from the system's generator.
    package func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
#endif
