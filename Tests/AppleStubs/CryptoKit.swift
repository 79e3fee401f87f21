// What the sources use of Apple's CryptoKit, as its documentation declares it. Never run: for the type checker alone.
public import Foundation

public protocol Digest: Hashable, ContiguousBytes, CustomStringConvertible, Sendable, Sequence where Element == UInt8 {
    static var byteCount: Int { get }
}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    static var blockByteCount: Int { get }
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

extension HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> Digest { never() }
    public mutating func update<D: DataProtocol>(data: D) { never() }
}

public struct DigestBytes: Digest {
    public static var byteCount: Int { never() }
    public var description: String { never() }
    public func makeIterator() -> Array<UInt8>.Iterator { never() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { never() }
}

public typealias SHA256Digest = DigestBytes

public struct SHA256: HashFunction {
    public typealias Digest = DigestBytes
    public static var blockByteCount: Int { never() }
    public init() { never() }
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) { never() }
    public func finalize() -> DigestBytes { never() }
}

public struct SHA384: HashFunction {
    public typealias Digest = DigestBytes
    public static var blockByteCount: Int { never() }
    public init() { never() }
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) { never() }
    public func finalize() -> DigestBytes { never() }
}

public struct SHA512: HashFunction {
    public typealias Digest = DigestBytes
    public static var blockByteCount: Int { never() }
    public init() { never() }
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) { never() }
    public func finalize() -> DigestBytes { never() }
}

public enum Insecure {
    public struct MD5: HashFunction {
        public typealias Digest = DigestBytes
        public static var blockByteCount: Int { never() }
        public init() { never() }
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) { never() }
        public func finalize() -> DigestBytes { never() }
    }

    public struct SHA1: HashFunction {
        public typealias Digest = DigestBytes
        public static var blockByteCount: Int { never() }
        public init() { never() }
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) { never() }
        public func finalize() -> DigestBytes { never() }
    }
}

public struct SymmetricKeySize: Sendable {
    public init(bitCount: Int) { never() }
    public static var bits256: SymmetricKeySize { never() }
}

public struct SymmetricKey: ContiguousBytes, Equatable, Sendable {
    public init<D: ContiguousBytes>(data: D) { never() }
    public init(size: SymmetricKeySize) { never() }
    public var bitCount: Int { never() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { never() }
}

public protocol MessageAuthenticationCode: Hashable, ContiguousBytes, CustomStringConvertible, Sequence
where Element == UInt8 {
    var byteCount: Int { get }
}

public struct HashedAuthenticationCode<H: HashFunction>: MessageAuthenticationCode, Sendable {
    public var byteCount: Int { never() }
    public var description: String { never() }
    public func makeIterator() -> Array<UInt8>.Iterator { never() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { never() }
}

public struct HMAC<H: HashFunction>: Sendable {
    public static func authenticationCode<D: DataProtocol>(
        for data: D, using key: SymmetricKey
    ) -> HashedAuthenticationCode<H> { never() }
}

public enum AES {
    public enum GCM {
        public struct Nonce: ContiguousBytes, Sequence, Sendable {
            public init() { never() }
            public init<D: DataProtocol>(data: D) throws { never() }
            public func makeIterator() -> Array<UInt8>.Iterator { never() }
            public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { never() }
        }

        public struct SealedBox: Sendable {
            public init<D: DataProtocol>(combined: D) throws { never() }
            public var tag: Data { never() }
            public var ciphertext: Data { never() }
            public var nonce: Nonce { never() }
            public var combined: Data? { never() }
        }

        public static func seal<Plaintext: DataProtocol, AuthenticatedData: DataProtocol>(
            _ message: Plaintext, using key: SymmetricKey, nonce: Nonce? = nil,
            authenticating authenticatedData: AuthenticatedData
        ) throws -> SealedBox { never() }

        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
        ) throws -> Data { never() }
    }
}

private func never() -> Never { preconditionFailure("a stub") }
