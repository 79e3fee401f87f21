import Testing

@testable import CloakroomSignatures

struct ECDSASignatureTests {
    /// From 128 bytes on the length takes two.
    @Test(arguments: [(61, [0x30, 126] as [UInt8]), (62, [0x30, 0x81, 128]), (66, [0x30, 0x81, 136])])
    func `has the shortest length in DER, and is read as it was`(coordinate: Int, head: [UInt8]) {
        let raw = [UInt8](repeating: 0x7F, count: 2 * coordinate)
        let der = ECDSASignature.der(raw)
        let number = [2, UInt8(coordinate)] + raw.prefix(coordinate)
        #expect(der == head + number + number)
        #expect(ECDSASignature.raw(der, coordinateByteCount: coordinate) == raw)
    }

    @Test func `of 127 bytes the length is one byte`() {
        let raw = [0, 1] + [UInt8](repeating: 0x7F, count: 122)
        let der = ECDSASignature.der(raw)
        #expect(der.prefix(2) == [0x30, 127])
        #expect(ECDSASignature.raw(der, coordinateByteCount: 62) == raw)
    }
}
