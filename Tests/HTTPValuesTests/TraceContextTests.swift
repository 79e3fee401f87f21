import Testing

@testable import CloakroomHTTP

struct TraceContextTests {
    private static func context(_ text: String) -> TraceContext? {
        var text = text
        return text.withUTF8 { TraceContext($0.span) }
    }

    @Test func `the example of the recommendation is read`() throws {
        let context = try #require(Self.context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        #expect(context.high == 0x4bf9_2f35_77b3_4da6 && context.low == 0xa3ce_929d_0e0e_4736)
        #expect(context.parent == 0x00f0_67aa_0ba9_02b7)
        #expect(context.isSampled)
    }

    @Test(arguments: [
        // Not sampled; flags that nobody knows yet; a later version, with and without more behind it.
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-brings", true),
    ])
    func `others are, too`(text: String, isSampled: Bool) throws {
        #expect(try #require(Self.context(text)).isSampled == isSampled)
    }

    @Test(arguments: [
        "", "-", "00", String(repeating: "0", count: 55), String(repeating: "-", count: 55),
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47\"}-00f067aa0ba902b7-01",
    ])
    func `what is not of that form is as none`(text: String) { #expect(Self.context(text) == nil) }
}
