import CloakroomLoop
import CloakroomRedis
import CloakroomServer

@LoopActor
extension Settings.Redis {
    /// For a worker.
    func client() throws(NoAuthoritiesError) -> any RedisClient {
        var options = try options()
        options.keepsSpare = true
        return RedisConnection(options: options)
    }

    /// For a command: a person waits for it, and no client, so that a slow Redis is better than none.
    func clientForPeople(atLeast timeout: Duration) throws(NoAuthoritiesError) -> any RedisClient {
        var options = try options()
        options.timeout = max(options.timeout, timeout)
        return RedisConnection(options: options)
    }

    private func options() throws(NoAuthoritiesError) -> RedisConnection.Options {
        var options = RedisConnection.Options(address: address)
        options.username = username
        options.password = password?.reveal()
        options.database = database
        options.timeout = timeout
        guard usesTLS else { return options }
        guard let trust = RedisTLS(certificateAuthorities: certificateAuthorities) else {
            throw NoAuthoritiesError(file: certificateAuthorities)
        }
        options.tls = trust
        return options
    }
}

struct NoAuthoritiesError: Error, CustomStringConvertible {
    /// `nil`: the system's.
    let file: String?

    var description: String { "\(file ?? "the system") has no certificates to trust for Redis" }
}
