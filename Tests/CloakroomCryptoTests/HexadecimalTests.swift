import CloakroomCrypto
import Testing

struct HexadecimalTests {
    @Test func `reads what it writes, in either case`() {
        let bytes = (0...255).map { UInt8($0) }
        #expect([UInt8](hexadecimal: bytes.hexadecimal.utf8) == bytes)
        #expect([UInt8](hexadecimal: bytes.hexadecimal.uppercased().utf8) == bytes)
        #expect([UInt8](hexadecimal: "".utf8) == [])
    }

    @Test(arguments: ["0", "abc", "0g", "-1", "+1", " 1", "1 ", "0x", "\u{FF11}\u{FF12}", "\u{E4}"])
    func `reads nothing else`(text: String) { #expect([UInt8](hexadecimal: text.utf8) == nil) }
}
