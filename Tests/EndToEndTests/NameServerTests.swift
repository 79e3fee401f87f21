import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 10: names that are not told.
    @Suite struct NameServers {
        /// A network of the worker's own, in which what is sent to the only name server is lost. `unshare` keeps the
        /// process id; without root it needs user namespaces.
        private static let silence = """
            [ "$(id -u)" = 0 ] || user=--map-root-user
            exec unshare $user --mount --net sh -ec '
                ip link set lo up
                ip address add 192.0.2.1/32 dev lo
                ip route add 192.0.2.53/32 dev lo
                file=$(mktemp)
                echo "nameserver 192.0.2.53" > "$file"
                mount --bind "$file" /etc/resolv.conf
                rm "$file"
                exec "$@"
            ' sh "$@"
            """

        private static var canBeSilent: Bool {
            get throws {
                let output = "\(try RunFolder.make("silence"))/output"
                let trial = try RunningProgram("/bin/sh", ["-c", silence, "sh", "true"], output: output)
                return try trial.waitForEnd() == 0
            }
        }

        /// glibc asks for 20 seconds; a worker that waited with it would be taken for hung.
        @Test(.enabled("where there are namespaces") { try canBeSilent })
        func `a name server that is silent delays those who need it, up to the deadline, and nobody else`() throws {
            let options = Stack.Options(shell: Self.silence) {
                $0["aws.stsEndpoint"] = "https://sts.example"
                $0["aws.s3Endpoint"] = "https://s3.example"
                $0["aws.timeoutMilliseconds"] = 300
                $0["server.requestDeadlineMilliseconds"] = 1500
            }
            try Stack.run("silent-names", options) { stack in
                let start = milliseconds()
                let clients = try [TestRequest.vend(Tokens.fresh()), .renew(Tokens.fresh(), ["a.bin"])].map { ask in
                    let client = try FastCGIClient(path: stack.socket())
                    try client.socket.send(FastCGIClient.request(ask))
                    return client
                }
                var slowest = 0.0
                while milliseconds() - start < 1000 {
                    let (reply, duration) = try timed { try stack.ask(.health) }
                    #expect(reply.status == 200)
                    slowest = max(slowest, duration)
                    usleep(5000)
                }
                #expect(slowest < 200)
                for client in clients { #expect(try client.answer().status == 503) }
                #expect(milliseconds() - start < 2500)
            }
        }
    }
}
