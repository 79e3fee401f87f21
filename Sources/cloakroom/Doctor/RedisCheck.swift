import CloakroomLoop
import CloakroomOperations
import CloakroomRedis
import CloakroomServer

/// Checks which Redis it is, how fast it is, and whether a script may write.
@LoopActor
struct RedisCheck {
    private let dependencies: DoctorDependencies
    private static let pings = 100

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let settings = dependencies.settings
        let redis: any RedisClient
        let sentinels: [RedisSentinels.Status]?
        do {
            sentinels = try await sentinelStatuses()
            // How slow it is shall be told, not cut off.
            redis = try settings.redis.clientForPeople(
                atLeast: .seconds(2), writes: !dependencies.options.isReadOnly)
        } catch {
            return [
                CheckName.redis.error(
                    "\(error)", why: "no worker starts", advice: "fix redis.certificateAuthorities")
            ]
        }
        defer { redis.close() }
        await redis.settle(within: .seconds(3))
        let primaries = (redis as? RedisClusterClient)?.servers ?? []
        var servers: [(name: String, observations: RedisObservations)] = []
        for (address, tag) in redis.keyTags {
            let primary: (any RedisClient)? = primaries.first { $0.address == address }?.connection
            let name = address.map { "\($0)" } ?? ""
            servers.append((name: name, observations: await observations(primary ?? redis, tag: tag)))
        }
        var findings = RedisFindings.all(servers, settings)
        if let sentinels {
            let refusals = await (redis as? RedisFailoverClient)?.replicaRefusals(of: Self.harmless) ?? []
            findings = SentinelFindings(sentinels, settings.redis, replicaRefusals: refusals).all + findings
        }
        return findings
    }

    /// A script that reads and writes nothing.
    private static let harmless = RedisScript(
        source: "return 1", digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
    ).call(keys: [], arguments: [])

    /// - Returns: `nil` without sentinels.
    private func sentinelStatuses() async throws(NoAuthoritiesError) -> [RedisSentinels.Status]? {
        guard let options = try dependencies.settings.redis.sentinelsForPeople(atLeast: .seconds(2)) else { return nil }
        return await RedisSentinels.statuses(options)
    }

    /// Of one server.
    ///
    /// - Parameter tag: in braces in keys that lie there.
    private func observations(_ redis: any RedisClient, tag: String) async -> RedisObservations {
        var observations = RedisObservations(
            info: await info(redis), scriptWrote: !dependencies.options.isReadOnly)
        guard observations.isReachable else { return observations }
        observations.save = await setting("save", redis)
        observations.maximumLag = await setting("min-replicas-max-lag", redis).flatMap { Int($0) }
        observations.latencies = await latencies(redis)
        observations.script = await script(redis, tag: tag)
        return observations
    }

    private func info(_ redis: any RedisClient) async -> Result<String, RedisError> {
        do throws(RedisError) {
            guard case .text(let bytes) = try await redis.read(RedisCommand(["INFO"])) else {
                return .failure(.interrupted)
            }
            return .success(String(decoding: bytes, as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    /// Managed Redis mostly refuses CONFIG.
    private func setting(_ name: String, _ redis: any RedisClient) async -> String? {
        guard case .array(let pair)? = try? await redis.send(RedisCommand(["CONFIG", "GET", name])), pair.count == 2,
            case .text(let value) = pair[1]
        else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    private func latencies(_ redis: any RedisClient) async -> [Duration] {
        var latencies: [Duration] = []
        for _ in 0..<Self.pings {
            let start = Monotonic.now
            guard (try? await redis.send(RedisCommand(["PING"]))) != nil else { break }
            latencies.append(.nanoseconds(Int64(Monotonic.now &- start)))
        }
        return latencies
    }

    /// The workers' own scripts, on keys of the doctor's.
    private func script(_ redis: any RedisClient, tag: String) async -> RedisSelfTest.Refusal? {
        guard !dependencies.options.isReadOnly else {
            do throws(RedisError) { _ = try await redis.run(Self.harmless) } catch {
                return RedisSelfTest.Refusal(purpose: "limits", error: error)
            }
            return nil
        }
        do throws(RedisError) {
            let selfTest = RedisSelfTest(dependencies.settings, name: "doctor:\(dependencies.name)")
            return try await selfTest.run(on: redis, tag: tag)
        } catch {
            return RedisSelfTest.Refusal(purpose: "limits", error: error)
        }
    }
}
