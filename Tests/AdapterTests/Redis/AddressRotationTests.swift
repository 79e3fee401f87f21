import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomRedis

/// Names that lead to several addresses.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AddressRotationTests {
    @Test @LoopActor func `commands wait for the second address of a name whose first refuses connections`()
        async throws
    {
        // At 127.0.0.1 alone.
        let server = try ScriptedRedis { command, _ in [.reply(command == ["PING"] ? "+PONG\r\n" : ":7\r\n")] }
        var options = RedisConnection.Options(address: .internet(host: "redis.example", port: server.port))
        options.timeout = .seconds(5)
        options.retryInterval = .seconds(60)
        options.resolver = HostResolver { _ in ["127.0.0.2", "127.0.0.1"] }
        let redis = RedisConnection(options: options)
        defer { redis.close() }
        await redis.settle(within: .seconds(5))
        #expect(await redis.outcome("INCR", "n") == .success(.integer(7)))
    }

    @Test func `each address has its turn, in whatever order the name server has them`() {
        var rotation = AddressRotation()
        var taken: [String?] = []
        for found in [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"], ["a", "b", "c"]] {
            taken.append(rotation.next(of: found))
            rotation.fail()
        }
        #expect(taken == ["a", "b", "c", "a", "b"])
    }

    @Test func `after one was of use, the others are tried again at once`() {
        var rotation = AddressRotation()
        var taken = [rotation.next(of: ["a", "b"])]
        rotation.fail()
        rotation.begin()
        taken.append(rotation.next(of: ["a", "b"]))
        rotation.wasOfUse()
        rotation.begin()
        taken.append(rotation.next(of: ["a", "b"]))
        rotation.fail()
        #expect(rotation.hasOthers)
        rotation.begin()
        taken.append(rotation.next(of: ["a", "b"]))
        #expect(taken == ["a", "b", "b", "a"])
    }

    @Test func `an attempt that ends before the name is resolved says nothing of an address`() {
        var rotation = AddressRotation()
        #expect(rotation.next(of: ["a", "b"]) == "a")
        rotation.begin()
        rotation.fail()
        #expect(!rotation.hasOthers)
        #expect(rotation.next(of: ["a", "b"]) == "a")
    }

    @Test func `an address that works is kept, and one that the name lost is forgotten`() {
        var rotation = AddressRotation()
        rotation.fail()
        var taken = [rotation.next(of: []), rotation.next(of: ["a", "b"])]
        #expect(rotation.hasOthers)
        rotation.fail()
        taken += [rotation.next(of: ["a", "b"]), rotation.next(of: ["a", "b"])]
        #expect(!rotation.hasOthers)
        taken.append(rotation.next(of: ["a"]))
        #expect(taken == [nil, "a", "b", "b", "a"])
    }
}
