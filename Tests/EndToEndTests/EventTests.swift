import CloakroomCrypto
import CloakroomJOSE
import CloakroomTestSupport
import Foundation
import Testing

extension EndToEnd {
    /// What other programs are told, by workers and commands, whatever happens to workers and to the webhook.
    @Suite struct Events {
        /// An event as it was received.
        private struct Received {
            let json: [String: Any]

            subscript(_ name: String) -> String? { json[name] as? String }

            var keys: [String] { json["keys"] as? [String] ?? [] }

            init?(_ request: HTTPServer.Received) {
                guard let json = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any] else {
                    return nil
                }
                self.json = json
            }
        }

        private static func isSigned(_ request: HTTPServer.Received) -> Bool {
            guard let key = HMACKey(Array(Tokens.secret.utf8)), let text = request["cloakroom-signature"],
                let parts = text.wholeMatch(of: /t=(\d+),v1=([0-9a-f]{64})/)
            else { return false }
            return key.sign(Array("\(parts.1).".utf8) + request.body).hexadecimal == parts.2
        }

        private static func options(_ url: String?) -> Stack.Options {
            .init(workers: 2, nginx: true, s3: true) { settings in
                settings["events.stream"] = "events"
                settings["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]]
                guard let url else { return }
                settings["events.webhook"] =
                    ["url": url, "secret": ["env": "TEST_TOKEN_SECRET"], "timeoutMilliseconds": 300] as [String: Any]
            }
        }

        /// A multipart upload of three bytes.
        ///
        /// - Returns: the object's key.
        private func upload(_ stack: Stack, _ token: String) throws -> String {
            let begun = try stack.askNginx(
                .post("/v2/uploads", token: token, json: #"{"contentType":"video/mp4","contentLength":3}"#))
            let upload = "/v2/uploads/\(try #require(begun["uploadId"]))"
            let reply = try stack.askNginx(.get("\(upload)/parts?numbers=1", token: token))
            let url = try #require((reply.json["parts"] as? [[String: Any]])?.first?["uploadUrl"] as? String)
            Secrets.keep(Presigned.signature(url))
            #expect(try Curl.run("PUT", url, body: "end").status == 200)
            #expect(try stack.askNginx(.post("\(upload)/complete", token: token)).status == 200)
            return try #require(begun["objectKey"])
        }

        @Test func `a webhook that fails at first has every event in the end, though a worker is killed`() throws {
            // The first two are refused, the third has no response in time.
            let latch = Latch()
            defer { latch.open() }
            let server = try HTTPServer { request in
                switch request.number {
                case 0, 1: [.answer(503)]
                case 2: [.wait(latch), .answer(200)]
                default: [.answer(200)]
                }
            }
            try Stack.run("events", Self.options(server.url + "/hook")) { stack in
                try stack.waitUntilReady()
                try EndToEnd.s3().put("ev-renewed.bin")
                let user = "u_ev\(getpid())"
                let token = Tokens.token(user: user, device: "phone")
                let key = try upload(stack, token)
                try wait(for: "the first post") { !server.requests.isEmpty }
                let victim = try #require(stack.workers.first)
                kill(victim, SIGKILL)
                let renewed = try stack.askNginx(.renew(token, ["ev-renewed.bin", "ev-gone.bin"]))
                #expect(renewed.json["renewed"] as? Int == 1)
                for words in [["disable", user, "--reason", "test"], ["revoke", user]] {
                    let command = try Command(["user"] + words + [stack.settingsFile])
                    #expect(command.status == 0, "\(command.text)")
                }
                let wanted = ["upload.completed", "asset.renewed", "user.disabled", "user.disabled", "user.revoked"]
                func delivered() -> [Received] {
                    var seen: Set<String> = []
                    return server.requests.filter { $0.number > 2 }.compactMap { Received($0) }
                        .filter { seen.insert($0["id"] ?? "").inserted }
                }
                try wait(for: "all events", within: .seconds(30)) {
                    delivered().compactMap { $0["type"] }.sorted() == wanted.sorted()
                }
                #expect(server.requests.allSatisfy { Self.isSigned($0) && $0.target == "/hook" })
                let events = delivered()
                #expect(events.allSatisfy { $0["user"] == user && $0["time"] != nil })
                #expect(events.filter { $0["type"] == "upload.completed" }.map(\.keys) == [[key]])
                #expect(events.filter { $0["type"] == "asset.renewed" }.map(\.keys) == [["ev-renewed.bin"]])
                #expect(Set(events.compactMap { $0["reason"] }) == ["test", "revoked"])
                for event in events where !event.keys.isEmpty {
                    #expect(stack.log.contains("\"request\":\"\(event["request"] ?? "none")\""))
                }
                try status(of: stack, deliveries: 5)
            }
        }

        /// What command and metrics say once all is delivered.
        private func status(of stack: Stack, deliveries: Double) throws {
            try wait(for: "an empty queue", within: .seconds(10)) {
                let command = try Command(["events", "status", "--json", stack.settingsFile])
                return command.text.contains(#""events":0,"pending":0,"oldestSeconds":null,"dead":0"#)
            }
            let metrics = Metrics(try stack.ask(.metrics).text)
            #expect(metrics.sum("cloakroom_event_deliveries_total", ["outcome": "delivered"]) >= deliveries)
            #expect(metrics.sum("cloakroom_event_deliveries_total", ["outcome": "unavailable"]) <= 2)
            #expect(metrics.sum("cloakroom_event_delay_seconds_count") >= deliveries)
            // Those of commands are counted by none.
            #expect(metrics.sum("cloakroom_events_total") == 2)
            #expect(metrics.sum("cloakroom_events_undelivered_total") == 0)
        }

        @Test func `a dead event is kept, shown and posted again`() throws {
            let server = try HTTPServer { request in [.answer(request.number > 0 ? 200 : 422)] }
            var options = Self.options(server.url)
            let usual = options.settings
            options.settings = { settings in
                usual(&settings)
                settings["events.webhook.maximumAttempts"] = 1
            }
            try Stack.run("dead-events", options) { stack in
                try stack.waitUntilReady()
                #expect(try Command(["user", "disable", "u_dead", stack.settingsFile]).status == 0)
                var dead = ""
                try wait(for: "the event's death", within: .seconds(10)) {
                    dead = try Command(["events", "dead", stack.settingsFile]).text
                    return !dead.isEmpty
                }
                #expect(dead.hasPrefix(#"{"reason":"attempts","attempts":1,"event":{"id":""#))
                #expect(dead.contains(#""type":"user.disabled""#) && dead.contains(#""user":"u_dead""#))
                try wait(for: "its count and its line") {
                    Metrics(try stack.ask(.metrics).text).sum("cloakroom_events_undelivered_total") == 1
                        && stack.logLines("an event is dead: the webhook did not take it").count == 1
                }
                #expect(try Command(["events", "dead", "--retry", stack.settingsFile]).text == dead)
                try wait(for: "the event", within: .seconds(10)) { server.requests.count == 2 }
                #expect(server.requests[0].body == server.requests[1].body)
                #expect(try Command(["events", "dead", stack.settingsFile]).text == "")
            }
        }

        @Test func `without a webhook the stream is for other programs`() throws {
            try Stack.run("event-stream", Self.options(nil)) { stack in
                try stack.waitUntilReady()
                #expect(try Command(["user", "disable", "u_stream", stack.settingsFile]).status == 0)
                let redis = try #require(stack.redis)
                let entries = try redis.command("XRANGE cloakroom:{events} - +")
                #expect(entries.count == 3 && entries[1] == "event")
                #expect(entries.last?.contains(#""type":"user.disabled""#) == true)
                let text = try Command(["events", "status", stack.settingsFile]).text
                #expect(text.hasPrefix("stream   cloakroom:{events}: 1 events, the oldest "))
            }
        }
    }
}
