import CloakroomLoop
package import CloakroomRedis

/// A script that takes access from users; it runs also where Redis has used up `maxmemory` and refuses writes (`OOM`).
///
/// Since version 7 a script's flag `allow-oom` permits that, for the few bytes that it takes (redis.io, "Lua scripts: script
/// flags"). Earlier versions do not compile the flag, so it is sent only where the script was refused without.
package struct WithdrawalScript: Sendable {
    /// Without the flag.
    let usual: RedisScript
    private let unlimited: RedisScript

    package typealias Sender = @LoopActor (RedisScript.Call) async throws(RedisError) -> RedisReply

    /// - Parameter text: in Lua; its keys are those that it is called with.
    package init(text: String) {
        usual = RedisScript(text: text)
        unlimited = RedisScript(text: "#!lua flags=allow-oom\n" + text)
    }

    /// - Throws: `OOM` where the server does not know the flag.
    nonisolated(nonsending) package func run(keys: [String], arguments: [String], by send: Sender)
        async throws(RedisError) -> RedisReply
    {
        let refusal: RedisError
        do throws(RedisError) { return try await send(usual.call(keys: keys, arguments: arguments)) } catch {
            guard error == .refused(code: "OOM") else { throw error }
            refusal = error
        }
        do throws(RedisError) { return try await send(unlimited.call(keys: keys, arguments: arguments)) } catch {
            guard case .refused = error else { throw error }
            throw refusal
        }
    }
}
