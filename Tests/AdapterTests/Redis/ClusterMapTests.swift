import Testing

@testable import CloakroomRedis

@Suite struct ClusterMapTests {
    private static let node = RedisAddress.internet(host: "10.0.0.1", port: 7000)

    /// Source: redis.io, "CLUSTER KEYSLOT" and "Redis cluster specification"; 0x31C3 is CRC-16/XMODEM of `123456789`.
    @Test(arguments: [
        ("123456789", 0x31C3 % 16_384), ("somekey", 11_058), ("foo{hash_tag}", 2_515), ("bar{hash_tag}", 2_515),
        ("", 0),
    ])
    func `a key's slot is that of the specification`(key: String, slot: Int) {
        #expect(HashSlot(of: Array(key.utf8)).number == slot)
    }

    @Test(arguments: [
        ("{user1000}.following", "user1000"), ("foo{{bar}}zap", "{bar"), ("foo{bar}{zap}", "bar"),
        ("foo{}{bar}", "foo{}{bar}"), ("foo{bar", "foo{bar"), ("}{", "}{"),
    ])
    func `what the first braces hold decides, unless it is nothing`(key: String, hashed: String) {
        var crc = 0
        for byte in hashed.utf8 {
            crc ^= Int(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
            crc &= 0xFFFF
        }
        #expect(HashSlot(of: Array(key.utf8)).number == crc % 16_384)
    }

    private static func text(_ text: String) -> RedisReply { .text(Array(text.utf8)) }

    private static func server(_ host: RedisReply, _ port: Int) -> RedisReply {
        .array([host, .integer(port), text("id"), .array([])])
    }

    private static func map(_ ranges: [RedisReply], info: String = "cluster_state:ok\r\n") -> SlotMap? {
        SlotMap(slots: .array(ranges), info: text(info), from: node)
    }

    @Test func `a map has each slot's primary, and no replica`() throws {
        let replica = Self.server(Self.text("10.0.0.9"), 7009)
        let map = try #require(
            Self.map(
                [
                    .array([.integer(0), .integer(99), Self.server(Self.text("10.0.0.2"), 7001), replica]),
                    .array([.integer(101), .integer(16_383), Self.server(Self.text("redis-3.example"), 7002)]),
                    .array([.integer(100), .integer(100), Self.server(Self.text("10.0.0.2"), 7001)]),
                ], info: "cluster_state:ok\r\ncluster_current_epoch:7\r\n"))
        #expect(
            map.primaries == [
                .internet(host: "10.0.0.2", port: 7001), .internet(host: "redis-3.example", port: 7002),
            ])
        #expect([0, 99, 100, 101, 16_383].map { map[HashSlot(number: $0)] } == [0, 0, 0, 1, 1])
        #expect(map.epoch == 7 && map.isServing)
    }

    @Test func `a slot that no server has is in no map, and a node without a name is the one that was asked`() throws {
        let map = try #require(
            Self.map([.array([.integer(5), .integer(6), Self.server(.null, 7000)])], info: "cluster_state:fail\r\n"))
        #expect(map.primaries == [Self.node])
        #expect([4, 5, 6, 7].map { map[HashSlot(number: $0)] } == [nil, 0, 0, nil])
        #expect(!map.isServing && map.epoch == 0)
    }

    @Test(arguments: [
        RedisReply.array([]), .null, .integer(1), .array([.integer(1)]),
        .array([.array([.integer(9), .integer(8), server(text("a"), 1)])]),
        .array([.array([.integer(0), .integer(16_384), server(text("a"), 1)])]),
        .array([.array([.integer(-1), .integer(8), server(text("a"), 1)])]),
        .array([.array([.integer(0), .integer(8), server(text("a"), 70_000)])]),
        .array([.array([.integer(0), .integer(8), server(text("a"), 0)])]),
        .array([.array([.integer(0), .integer(8)])]),
    ])
    func `what is no map is refused`(reply: RedisReply) {
        #expect(SlotMap(slots: reply, info: .null, from: Self.node) == nil)
    }

    @Test(arguments: [
        ("MOVED 3999 127.0.0.1:6381", RedisAddress.internet(host: "127.0.0.1", port: 6381)),
        ("MOVED 3999 ::1:6381", .internet(host: "::1", port: 6381)),
        ("MOVED 3999 redis-3.example:6381", .internet(host: "redis-3.example", port: 6381)),
        ("MOVED 3999 :6381", .internet(host: "10.0.0.1", port: 6381)),
    ])
    func `a redirection names a server`(message: String, address: RedisAddress) throws {
        #expect(ClusterRedirection(message, from: Self.node)?.address == address)
        #expect(ClusterRedirection(message, from: Self.node)?.kind == .moved)
        let asking = message.replacing("MOVED", with: "ASK")
        #expect(ClusterRedirection(asking, from: Self.node)?.kind == .ask)
    }

    @Test(arguments: ["MOVED 1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:x", "TRYAGAIN Multiple keys", "ERR no", ""])
    func `what is no redirection names none`(message: String) {
        #expect(ClusterRedirection(message, from: Self.node) == nil)
    }
}
