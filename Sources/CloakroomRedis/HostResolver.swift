import CloakroomCLinux
package import CloakroomLoop
import Glibc

/// The literal addresses of hosts, by the system's resolver, which blocks: each lookup has a thread of its own.
@LoopActor
package final class HostResolver {
    static let shared = HostResolver(lookUp: HostResolver.systemLiterals)

    private let lookUp: @Sendable (String) -> [String]
    /// Those who wait for a lookup that is under way, by name.
    private var waiting: [String: [CheckedContinuation<[String], Never>]] = [:]

    /// - Parameter lookUp: blocks until there is a response; returns nothing for a name without an address.
    package init(lookUp: @escaping @Sendable (String) -> [String]) { self.lookUp = lookUp }

    /// - Returns: the addresses as text, in the order in which they should be tried (getaddrinfo(3)); a literal one as it is.
    package func literals(of host: String) async -> [String] {
        if Self.isLiteral(host) { return [host] }
        return await withCheckedContinuation { waiter in
            let isUnderWay = waiting[host] != nil
            waiting[host, default: []].append(waiter)
            if !isUnderWay { start(host) }
        }
    }

    private func start(_ host: String) {
        let isStarted = Self.detachThread { [lookUp] in
            let literals = lookUp(host)
            Task { await self.end(host, literals) }
        }
        if !isStarted { end(host, []) }
    }

    private func end(_ host: String, _ literals: [String]) {
        for waiter in waiting.removeValue(forKey: host) ?? [] { waiter.resume(returning: literals) }
    }

    private final class ThreadBody: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs a closure on a thread that ends with it. Not by Foundation's `Thread`: nothing else in the worker needs the whole
    /// of Foundation, which would bring 34 MB of Unicode tables into the program.
    ///
    /// - Returns: `false` when the system allows no further thread.
    private nonisolated static func detachThread(_ body: @escaping @Sendable () -> Void) -> Bool {
        let kept = unsafe Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        let failure = unsafe pthread_create(
            &thread, nil,
            { pointer in
                if let pointer = unsafe pointer {
                    unsafe Unmanaged<ThreadBody>.fromOpaque(pointer).takeRetainedValue().run()
                }
                return nil
            }, kept.toOpaque())
        guard failure == 0 else {
            unsafe kept.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private static func isLiteral(_ host: String) -> Bool { unsafe cloakroom_is_address(host) != 0 }

    private nonisolated static func systemLiterals(of host: String) -> [String] {
        let text = unsafe String(unsafeUninitializedCapacity: maximumBytes) { space in
            unsafe space.withMemoryRebound(to: CChar.self) { space in
                unsafe cloakroom_resolve(host, space.baseAddress, space.count)
            }
        }
        return text.split(separator: "\n").map(String.init)
    }

    /// Of all addresses of a name as text: more than fit into a response of DNS over UDP.
    private nonisolated static let maximumBytes = 4096
}
