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

    @Test func `a node whose name is unknown is met by the address that comes with it, and else has no slots`() throws {
        func unnamed(_ details: [RedisReply]) -> RedisReply {
            .array([Self.text("?"), .integer(7003), Self.text("id"), .array(details)])
        }
        let map = try #require(
            Self.map([
                .array([.integer(0), .integer(0), unnamed([Self.text("ip"), Self.text("10.0.0.4")])]),
                .array([.integer(1), .integer(1), unnamed([])]),
            ]))
        #expect(map.primaries == [.internet(host: "10.0.0.4", port: 7003)])
        #expect([0, 1].map { map[HashSlot(number: $0)] } == [0, nil] && !map.isWhole)
        #expect(Self.map([.array([.integer(0), .integer(16_383), unnamed([])])]) == nil)
    }

    /// All slots are one server's.
    private static func map(of server: String, epoch: Int, state: String = "ok") throws -> SlotMap {
        try #require(
            map(
                [.array([.integer(0), .integer(16_383), Self.server(text(server), 7000)])],
                info: "cluster_state:\(state)\r\ncluster_current_epoch:\(epoch)\r\n"))
    }

    @Test func `of several maps that of most nodes holds, then that of the latest failover`() throws {
        let maps = try [("a", 1), ("a", 2), ("b", 9)].map { try Self.map(of: $0, epoch: $1) }
        #expect(SlotMap.mostAgreed(maps)?.hasSameOwners(as: maps[0]) == true)
        #expect(SlotMap.mostAgreed([maps[0], maps[2]]) == maps[2])
        let cutOff = try (1...3).map { _ in try Self.map(of: "c", epoch: 10, state: "fail") }
        #expect(SlotMap.mostAgreed(cutOff + [maps[0]]) == maps[0])
        #expect(SlotMap.mostAgreed(cutOff) == cutOff[0])
        #expect(SlotMap.mostAgreed([]) == nil)
    }

    @Test func `nodes name the same primaries in any order`() throws {
        let (a, b) = (Self.server(Self.text("a"), 7000), Self.server(Self.text("b"), 7000))
        let ranges = [RedisReply.array([.integer(0), .integer(99), b]), .array([.integer(100), .integer(16_383), a])]
        let (one, other) = (try #require(Self.map(ranges)), try #require(Self.map(ranges.reversed())))
        #expect(one.hasSameOwners(as: other) && one.isWhole)
        #expect(one.primaries == [.internet(host: "a", port: 7000), .internet(host: "b", port: 7000)])
    }

    @Test func `maps differ by one slot, and by where one is that no server has`() throws {
        let (a, b) = (Self.server(Self.text("a"), 7000), Self.server(Self.text("b"), 7000))
        func map(_ border: Int, gap: Int = 1) throws -> SlotMap {
            try #require(
                Self.map([
                    .array([.integer(0), .integer(border - 1), a]),
                    .array([.integer(border - 1 + gap), .integer(16_383), b]),
                ]))
        }
        let former = try map(99)
        #expect(try former.hasSameOwners(as: map(99)))
        #expect(try !former.hasSameOwners(as: map(100)))
        #expect(try !former.hasSameOwners(as: map(99, gap: 2)))
        #expect(try !map(99, gap: 2).hasSameOwners(as: map(98, gap: 2)))
        #expect(try !map(99, gap: 2).isWhole)
    }

    @Test func `a map's digest is the same in every process, and another one for other owners`() throws {
        // SHA-256 of "a:7000 1", its first eight bytes: one server that has all slots.
        #expect(try Self.map(of: "a", epoch: 1).digest == "68ab0e15c10f6d63")
        #expect(try Self.map(of: "a", epoch: 2, state: "fail").digest == "68ab0e15c10f6d63")
        let (a, b) = (Self.server(Self.text("a"), 7000), Self.server(Self.text("b"), 7000))
        let maps = try [(99, a, b), (100, a, b), (100, b, a)].map { border, first, second in
            try #require(
                Self.map([
                    .array([.integer(0), .integer(border - 1), first]),
                    .array([.integer(border), .integer(16_383), second]),
                ]))
        }
        let other = try Self.map(of: "b", epoch: 1).digest
        #expect(Set(maps.map(\.digest) + [other]).count == 4)
    }

    @Test func `each primary with slots has a tag whose keys lie there`() throws {
        let ranges = [(0, 5460, "b"), (5461, 10_922, "a"), (10_923, 16_383, "c")].map { first, last, host in
            RedisReply.array([.integer(first), .integer(last), Self.server(Self.text(host), 7000)])
        }
        let map = try #require(Self.map(ranges))
        #expect(map.keyTags.compactMap(\.server) == map.primaries)
        for (server, tag) in map.keyTags {
            let owner = try #require(map[HashSlot(of: Array("c:trial:w:{\(tag)}:limit".utf8))])
            #expect(map.primaries[owner] == server)
        }
    }

    @Test func `also one that has a single slot has a tag, whatever slot that is`() throws {
        // No lesser number has its slot.
        let last = HashSlot(of: Array("109757".utf8)).number
        let (a, b) = (Self.server(Self.text("a"), 7000), Self.server(Self.text("b"), 7000))
        let map = try #require(
            Self.map([
                .array([.integer(0), .integer(last - 1), a]), .array([.integer(last), .integer(last), b]),
                .array([.integer(last + 1), .integer(16_383), a]),
            ]))
        #expect(map.keyTags.map(\.tag) == ["0", "109757"])
        #expect(Set((0...109_757).map { HashSlot(of: Array("\($0)".utf8)) }).count == HashSlot.count)
        let unserved = try #require(Self.map([.array([.integer(last), .integer(last), b])]))
        #expect(unserved.keyTags.map(\.tag) == ["109757"])
    }

    @Test func `configured nodes are asked for the map besides the primaries, and each once`() {
        func nodes(_ numbers: ClosedRange<Int>) -> [RedisAddress] {
            numbers.map { .internet(host: "n\($0)", port: 7000) }
        }
        for _ in 0..<50 {
            let asked = ClusterNodes.asked(ready: nodes(1...9), others: nodes(10...12), configured: nodes(20...29))
            #expect(asked.count == 5 && asked.count(where: nodes(20...29).contains) == 2)
            #expect(asked.count(where: nodes(1...9).contains) == 3)
            let lost = ClusterNodes.asked(ready: [], others: nodes(1...9), configured: nodes(20...21))
            #expect(Set(lost).isSuperset(of: nodes(20...21)) && lost.count == 5)
            #expect(Set(ClusterNodes.asked(ready: nodes(1...3), others: [], configured: nodes(1...3))).count == 3)
        }
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

    @Test(arguments: [
        "MOVED 1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:x", "TRYAGAIN Multiple keys", "ERR no", "",
        "MOVED 3999 ?:6381",
    ])
    func `what is no redirection names none`(message: String) {
        #expect(ClusterRedirection(message, from: Self.node) == nil)
    }
}
