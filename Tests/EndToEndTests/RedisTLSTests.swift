import CloakroomTestSupport
import Testing

extension EndToEnd {
    /// A Redis that worker and commands reach, and that TLS keeps them from.
    @Suite struct RedisTLSFailures {
        @Test func `worker, doctor and commands say that Redis wants a certificate of its clients, and what to set`()
            throws
        {
            let folder = try TemporaryFolder()
            let tls = try TestCertificate(for: "IP:127.0.0.1", in: folder)
            let port = try Ports.free()
            // Redis' default of tls-auth-clients.
            let redis = try RedisServer(
                path: folder["r.sock"],
                options: [
                    "--tls-port", "\(port)", "--bind", "127.0.0.1", "--tls-cert-file", tls.certificate,
                    "--tls-key-file",
                    tls.key, "--tls-ca-cert-file", tls.certificate,
                ])
            let options = Stack.Options(redis: false) { settings in
                settings["redis.address"] = "127.0.0.1:\(port)"
                settings["redis.tls"] = true
                settings["redis.certificateAuthorities"] = tls.certificate
            }
            try Stack.run("redis-tls", options) { stack in
                let reason = "tlsv13 alert certificate required"
                let remedy = "set tls-auth-clients no in redis.conf"
                try wait(for: "the reason in /readyz") {
                    let ready = try stack.ask(.ready)
                    return ready.status == 503 && ready["redis"]?.hasPrefix("TLS: \(reason): ") == true
                        && ready["redis"]?.hasSuffix(remedy) == true
                }
                try wait(for: "the reason in the log: \(stack.log)") {
                    stack.logLines("dependency is not ready").contains {
                        ($0["reason"] as? String)?.contains(reason) == true
                    }
                }
                let doctor = try Command(["doctor", "--only", "redis", "--settings", stack.settingsFile])
                #expect(doctor.status == 1, "\(doctor.text)")
                #expect(doctor.text.contains("Redis does not respond: TLS: \(reason)"), "\(doctor.text)")
                #expect(doctor.text.contains("tls-auth-clients no"), "\(doctor.text)")
                let command = try Command(["user", "get", "u_1", stack.settingsFile])
                #expect(command.status == 1)
                #expect(
                    command.text.contains("no connection through TLS to Redis at 127.0.0.1:\(port): \(reason);"),
                    "\(command.text)")
                #expect(command.text.contains(remedy))
                #expect(!(command.text + doctor.text + stack.log).contains("PRIVATE KEY"))
            }
            withExtendedLifetime(redis) {}
        }
    }
}
