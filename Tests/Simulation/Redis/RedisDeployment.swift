import CloakroomKitTestSupport
import CloakroomLoop

/// How Redis is run in a world: as the worker's settings know it, and what of its own goes wrong with it.
@LoopActor
protocol RedisDeployment: AnyObject {
    /// Its servers, as the network knows them.
    var servers: [String] { get }

    /// What each of these keeps.
    var stores: [RedisData] { get }

    /// Whether one that takes writes can be reached.
    var isUp: Bool { get }

    /// What a client's settings have in `redis`; it can connect from now on.
    func settings(for client: String) -> String

    /// A client's process has ended.
    func forget(_ client: String)

    /// One fault of its own, until that is over.
    func strike() async

    /// No fault goes on.
    func calm()
}

/// One server for all.
@LoopActor
final class SingleRedis: RedisDeployment, RedisEndpoint {
    let name = "redis"
    private(set) var isUp = true
    var servers: [String] { [name] }
    var stores: [RedisData] { [data] }
    private let data = RedisData()
    private let ports: RedisPorts
    private let oracle: Oracle
    private var random: SeededGenerator

    init(_ ports: RedisPorts, _ oracle: Oracle, seed: UInt64) {
        self.ports = ports
        self.oracle = oracle
        random = SeededGenerator(seed: seed)
    }

    func settings(for client: String) -> String { "address: \"unix:\(ports.listen(for: client, self))\"" }

    func forget(_ client: String) { ports.forget(client) }

    func reply(to words: [[UInt8]], on connection: RedisServerConnection) -> Lua.Value? {
        guard words[0] != Array("INFO".utf8) else { return .text(Array("role:master\r\nconnected_slaves:0\r\n".utf8)) }
        defer { _ = data.takeChanges() }
        return data.run(words)
    }

    /// The process ends, and sometimes with it all that was not written to a disk.
    func strike() async {
        let losesData = Bool.random(using: &random)
        isUp = false
        ports.drop(self)
        Trace.note(name, losesData ? "crashes and loses its data" : "crashes")
        Trace.reached(losesData ? .redisDataLost : .redisDown)
        if losesData {
            data.flush()
            oracle.dataWasLost()
        }
        let seconds = random.seconds(in: losesData ? 0.01...5 : 1...300)
        try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000)))
        start()
    }

    func calm() { start() }

    private func start() {
        guard !isUp else { return }
        isUp = true
        ports.noteLoss(of: self)
        Trace.note(name, "is back")
    }
}
