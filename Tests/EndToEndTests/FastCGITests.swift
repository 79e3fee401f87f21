import Foundation
import CloakroomTestSupport
import Testing

extension EndToEnd {
    /// FAULTS rows 16 and 17, on the worker's socket itself: what nginx would never send.
    @Suite struct FastCGI {
        private typealias Client = FastCGIClient

        /// - Returns: how many milliseconds the answer took.
        private static func health(_ client: Client) throws -> Double {
            let (reply, duration) = try timed { try client.ask(.health) }
            #expect(reply.status == 200)
            return duration
        }

        @Test func `half-open peers do not slow the others down`() throws {
            try Stack.run("half-open") { stack in
                let request = Client.request(.health)
                let peers = try (0..<200).map { number in
                    let peer = try Client(path: stack.socket())
                    // From one byte to all but one.
                    try peer.socket.send(request.prefix(1 + number * (request.count - 2) / 199))
                    return peer
                }
                let client = try Client(path: stack.socket())
                let durations = try (0..<500).map { _ in try Self.health(client) }
                #expect(durations.sorted()[250] < 5)
                #expect(durations.sorted()[495] < 50)
                for peer in peers { peer.socket.shut() }
                #expect(try stack.ask(.health).status == 200)
            }
        }

        @Test func `a request that comes byte by byte is answered`() throws {
            try Stack.run("dribble") { stack in
                let client = try Client(path: stack.socket())
                for _ in 1...2 {
                    for byte in Client.request(.renew("no.such.token", ["a.bin"])) { try client.socket.send([byte]) }
                    #expect(
                        try client.answer().told == #"401 {"error":"Invalid auth token","code":"unauthorized"}"#)
                }
            }
        }

        @Test func `three requests sent at once are answered one after the other`() throws {
            try Stack.run("pipeline") { stack in
                let client = try Client(path: stack.socket())
                let token = Tokens.fresh()
                try client.socket.send(
                    Client.request(.health, id: 1) + Client.request(.presign(token), id: 2)
                        + Client.request(.get("/nowhere"), id: 3))
                #expect(try client.answer(id: 1).told == #"200 {"status":"ok"}"#)
                #expect(try client.answer(id: 2).status == 200)
                #expect(try client.answer(id: 3).status == 404)
                #expect(try client.ask(.health).status == 200)
            }
        }

        @Test func `padding, long names and split parameters are read`() throws {
            try Stack.run("padding") { stack in
                let client = try Client(path: stack.socket())
                var ask = TestRequest.health
                ask.fields["X-" + String(repeating: "A", count: 300)] = String(repeating: "b", count: 20_000)
                let parameters = Client.parameters(ask)
                var bytes = Client.begin()
                for start in stride(from: 0, to: parameters.count, by: 777) {
                    let part = Array(parameters[start..<min(start + 777, parameters.count)])
                    bytes += Client.record(4, 1, part, padding: UInt8(start % 256))
                }
                bytes += Client.record(4, 1, []) + Client.record(5, 1, [], padding: 7)
                try client.socket.send(bytes)
                #expect(try client.answer().told == #"200 {"status":"ok"}"#)
            }
        }

        @Test func `what no nginx sends ends that connection alone`() throws {
            try Stack.run("malformed") { stack in
                let neighbour = try Client(path: stack.socket())
                let good = Client.request(.health)
                let parameters = Client.parameters(.health)
                let cases: [(String, [UInt8])] = [
                    ("another version", [2] + good.dropFirst()),
                    ("HTTP", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
                    ("a begin of 4 bytes", Client.record(1, 1, [0, 1, 0, 0])),
                    ("an authorizer", Client.record(1, 1, [0, 2, 0, 0, 0, 0, 0, 0])),
                    ("an abort", Client.begin() + Client.record(2, 1, [])),
                    ("an abort at once", Client.record(2, 1, [])),
                    ("another request's id", Client.begin() + Client.record(4, 2, parameters)),
                    ("an unknown type", Client.begin() + Client.record(11, 1, [1, 2, 3])),
                    (
                        "a name beyond the end",
                        Client.begin() + Client.record(4, 1, [200, 1, 65]) + Client.record(4, 1, [])
                    ),
                    (
                        "a giant length",
                        Client.begin() + Client.record(4, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 65])
                            + Client.record(4, 1, []) + Client.record(5, 1, [])
                    ),
                    (
                        "a NUL in a value",
                        Client.begin() + Client.record(4, 1, Client.pair("REQUEST_METHOD", "GE\0T"))
                            + Client.record(4, 1, []) + Client.record(5, 1, [])
                    ),
                    (
                        "no method",
                        Client.begin() + Client.record(4, 1, Client.pair("A", "b")) + Client.record(4, 1, [])
                            + Client.record(5, 1, [])
                    ),
                ]
                for (name, bytes) in cases {
                    let client = try Client(path: stack.socket())
                    try client.socket.send(bytes)
                    #expect(try client.record() == nil, "\(name)")
                    let answer = try? neighbour.ask(.health)
                    try #require(answer?.status == 200, "\(name)")
                }
            }
        }

        @Test func `thousands of mutated requests leave it healthy`() throws {
            try Stack.run("mutations") { stack in
                let worker = try #require(stack.server?.pid)
                var random = SeededGenerator(seed: 20_260_316)
                let asks: [TestRequest] = [
                    .health, .renew(Tokens.fresh(), ["a.bin", "b.bin"]), .presign(Tokens.fresh()), .metrics,
                ]
                let requests = asks.map { Client.request($0) }
                for number in 1...4000 {
                    var bytes = requests[number % requests.count].mutated(using: &random)
                    if number.isMultiple(of: 5) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
                    let client = try Client(path: stack.socket())
                    // The worker may have closed it already.
                    try? client.socket.send(bytes)
                    client.socket.finishSending()
                    // An answer or none, but an end, and at once.
                    let (_, duration) = timed { try? client.socket.receiveToEnd() }
                    try #require(duration < 2000, "mutation \(number)")
                    if number.isMultiple(of: 500) { #expect(try stack.ask(.health).status == 200) }
                }
                #expect(stack.server?.isRunning == true)
                #expect(stack.server?.pid == worker)
                #expect(ProcessTable.residentMegabytes(worker) < 150)
            }
        }

        @Test func `a body over the limit is 413, and memory stays flat`() throws {
            try Stack.run("oversized") { stack in
                let worker = try #require(stack.server?.pid)
                let before = ProcessTable.residentMegabytes(worker)
                for _ in 1...10 {
                    var ask = TestRequest.renew(Tokens.fresh(), body: "")
                    ask.body = [UInt8](repeating: 0x20, count: 3 << 20)
                    let client = try Client(path: stack.socket())
                    // It need not take all of it.
                    try? client.socket.send(Client.request(ask))
                    #expect(
                        try client.answer().told == #"413 {"error":"Request body too large","code":"body_too_large"}"#)
                }
                #expect(ProcessTable.residentMegabytes(worker) - before < 8)
                #expect(try stack.ask(.health).status == 200)
            }
        }

        @Test(arguments: ["-1", "7", "99999999999999999999999", "1e2", "0x10", " 20", "two"])
        func `a content length that is not the body's is 400`(_ length: String) throws {
            try Stack.run("length") { stack in
                var ask = TestRequest.renew(Tokens.fresh(), ["a.bin"])
                ask.fields["Content-Length"] = length
                let client = try Client(path: stack.socket())
                #expect(
                    try client.ask(ask).told == #"400 {"error":"Invalid request body","code":"invalid_request"}"#)
                #expect(try client.ask(.health).status == 200)
            }
        }

        @Test func `the questions of FastCGI itself are answered`() throws {
            try Stack.run("values") { stack in
                let client = try Client(path: stack.socket())
                let names = ["FCGI_MAX_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS"]
                try client.socket.send(Client.record(9, 0, names.flatMap { Client.pair($0, "") }))
                let record = try #require(try client.record())
                #expect(record.kind == 10)
                #expect(record.id == 0)
                let text = String(decoding: record.content, as: UTF8.self)
                for name in names { #expect(text.contains(name)) }
                #expect(text.hasSuffix("FCGI_MPXS_CONNS0"))
                #expect(try client.ask(.health).status == 200)
            }
        }

        @Test func `a peer that reads no answer delays nobody`() throws {
            try Stack.run("deaf") { stack in
                let deaf = try (0..<10).map { _ in
                    let client = try Client(path: stack.socket())
                    client.socket.setReceiveBuffer(1)
                    // Far more than the socket takes: the answers wait in the worker.
                    let requests = (1...60).flatMap { Client.request(.metrics, id: $0) }
                    try client.socket.send(requests)
                    return client
                }
                let client = try Client(path: stack.socket())
                let durations = try (0..<300).map { _ in try Self.health(client) }
                #expect(durations.sorted()[150] < 10)
                // Nothing was lost to those who read late.
                for id in 1...60 { #expect(try deaf[0].answer(id: id).status == 200) }
            }
        }

        @Test func `a client that goes away in the middle leaves the worker healthy`() throws {
            try Stack.run("abort", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                for _ in 1...100 {
                    let client = try Client(path: stack.socket())
                    try client.socket.send(Client.request(.renew(Tokens.fresh(), ["gone-1.bin", "gone-2.bin"])))
                    client.socket.shut()
                }
                #expect(try stack.ask(.renew(Tokens.fresh(), ["gone.bin"])).status == 200)
                try wait(for: "all answers") {
                    Metrics(try stack.ask(.metrics).text)
                        .sum("cloakroom_requests_total", ["route": "/v2/assets/renew-batch", "status": "200"]) == 101
                }
            }
        }

        @Test func `a client that goes away through nginx costs no one else an answer`() throws {
            try Stack.run("abort-nginx", .init(nginx: true, s3: true)) { stack in
                try stack.waitUntilReady()
                let port = try #require(stack.nginx).port
                for _ in 1...50 {
                    let socket = try Socket(port: port)
                    try socket.send(HTTPClient.bytes(of: .renew(Tokens.fresh(), ["gone-1.bin"])))
                    socket.shut()
                    #expect(try stack.askNginx(.health).status == 200)
                }
            }
        }

        @Test func `a connection is kept only for those who ask for it`() throws {
            try Stack.run("keep") { stack in
                let client = try Client(path: stack.socket())
                try client.socket.send(Client.request(.health, keepsConnection: false))
                #expect(try client.answer().status == 200)
                #expect(try client.record() == nil)
            }
        }
    }
}
