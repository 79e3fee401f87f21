import Testing

@testable import CloakroomServer

struct IPNetworkTests {
    @Test(arguments: [
        ("203.0.113.0/24", "203.0.113.7", true), ("203.0.113.0/24", "203.0.114.7", false),
        ("203.0.113.7", "203.0.113.7", true), ("203.0.113.7", "203.0.113.8", false),
        ("203.0.113.0/25", "203.0.113.127", true), ("203.0.113.0/25", "203.0.113.128", false),
        ("0.0.0.0/0", "203.0.113.7", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("203.0.113.0/24", "203.0.0.0/16", false), ("203.0.0.0/16", "203.0.113.0/24", true),
        ("2001:db8::/32", "2001:DB8:0:1::7", true), ("2001:db8::/33", "2001:db8:8000::", false),
        ("::/0", "2001:db8::1", true), ("::1", "0:0:0:0:0:0:0:1", true),
    ])
    func `contains what begins alike`(network: String, address: String, expected: Bool) throws {
        let (network, address) = (try #require(IPNetwork(network)), try #require(IPNetwork(address)))
        #expect(network.contains(address) == expected)
    }

    @Test(arguments: [
        "", "/", "203.0.113", "203.0.113.7/33", "203.0.113.7/", "203.0.113.7/-1", "203.0.113.7/+1", "203.0.113.7/24/1",
        "203.0.113.256", "::/129", "fe80::1%eth0", "unix:", "example.com", "203.0.113.7 ",
    ])
    func `is nothing else`(text: String) { #expect(IPNetwork(text) == nil) }

    @Test(arguments: [
        ("203.0.113.7", "203.0.113.7"), ("::ffff:203.0.113.7", "203.0.113.7"), ("::FFFF:203.0.113.7", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"), ("unix:", nil), ("", nil), ("203.0.113.0/24", nil), ("::ffff:1", nil),
    ])
    func `of a client is the address that S3 sees`(text: String, expected: String?) {
        #expect(IPNetwork.clientAddress(text) == expected)
    }
}
