import CloakroomCrypto
import CloakroomHTTP
import CloakroomKit
import CloakroomKitTesting
import CloakroomLoop
import Foundation

@testable import CloakroomScriptedS3

/// URLSession's place on a device: to nginx and to S3, through the network.
struct DeviceTransport: HTTPTransport {
    let process: DeviceProcess

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        var sent = request
        sent.fields = try request.fieldsToSend()
        let body = try request.body.contents()
        let response = try await process.exchange(sent, Array(body))
        progress?(HTTPProgress(bytesSent: Int64(body.count)))
        return try response.delivered(to: request.destination)
    }
}

/// The app as one process of a device: what it waits for it waits for good once it was killed.
@LoopActor
final class DeviceProcess {
    private let device: String
    private let world: World
    private(set) var isAlive = true
    /// Of the launch.
    var end: Once?
    /// Without a network.
    var isOffline = false
    private(set) var requests = 0
    /// Requests whose response was lost.
    private var lost: Set<String> = []
    /// What a planted fault says that S3 has, by targets.
    private static var madeUp: [String: HTTPResponse] = [:]

    init(_ device: String, in world: World) {
        self.device = device
        self.world = world
    }

    func kill() { isAlive = false }

    /// Ends the launch as well, as soon as all that it had begun before its next wait is done.
    func die() {
        kill()
        EventPoller.shared.schedule(after: .milliseconds(1)) { [self] in end?.call() }
    }

    /// Something that takes a moment, in which the app may be killed.
    func work() async {
        try? await LoopActor.sleep(for: .milliseconds(5))
        await check()
    }

    func check() async { if !isAlive { await world.waitForGood() } }

    func exchange(_ request: HTTPRequest, _ body: [UInt8]) async throws(HTTPTransportError) -> HTTPResponse {
        await check()
        guard let (origin, target) = request.url.absoluteString.originAndTarget else { throw .invalidRequest }
        requests += 1
        let isWorker = origin == World.apiURL
        let other = isWorker ? "nginx" : "s3"
        let fate = isOffline ? .refused : world.network.fate(device, other)
        let (there, back) = (world.network.delay(60), world.network.delay(40))
        guard fate != .refused else {
            try await pause(.milliseconds(20))
            throw .unreachable
        }
        if Plant.current == .uploadIsDoneEarly, fate == .lostBefore, !isWorker, request.method == "PUT" {
            return HTTPResponse(status: 200, fields: [("ETag", "\"\(MD5.hash(body).hexadecimal)\"")], body: Data())
        }
        if Plant.current == .proofIsMadeUp, let response = madeUpResponse(request, target, body) { return response }
        guard fate != .lostBefore, there + back < request.timeout else {
            try await pause(min(request.timeout, there + back))
            throw fate == .lostBefore ? .interrupted : .timedOut
        }
        try await pause(there)
        let response = try await isWorker ? worker(request, target, body) : store(request, target, body)
        try await pause(back, afterEffect: true)
        guard fate == .delivered else {
            Trace.reached(.deviceResponseLost)
            lost.insert("\(request.method) \(target)")
            throw .interrupted
        }
        if 200..<300 ~= response.status, lost.remove("\(request.method) \(target)") != nil {
            Trace.reached(.retriedAfterLoss)
        }
        return response
    }

    /// One of two photos never gets to S3, and is proven all the same.
    private func madeUpResponse(_ request: HTTPRequest, _ target: String, _ body: [UInt8]) -> HTTPResponse? {
        if request.method == "HEAD" { return Self.madeUp[target] }
        guard request.method == "PUT", target.contains("/tiers/"), target.contains("/photos/"),
            world.network.chance(0.5)
        else { return nil }
        let sent = request.fields.filter { $0.name.lowercased().hasPrefix("x-amz-meta-") }
        let tag = (name: "ETag", value: "\"\(MD5.hash(body).hexadecimal)\"")
        let length = (name: "Content-Length", value: String(body.count))
        let response = HTTPResponse(
            status: 200,
            fields: sent.map { ($0.name, $0.value) } + [(tag.name, tag.value), (length.name, length.value)],
            body: Data())
        Self.madeUp[target] = response
        return response
    }

    private func worker(_ request: HTTPRequest, _ target: String, _ body: [UInt8]) async throws(HTTPTransportError)
        -> HTTPResponse
    {
        var sent = UpstreamRequest(method: request.method, origin: World.apiURL, target: target, body: body)
        for field in request.fields { sent.fields.add(field.name, field.value) }
        let response = await world.front.answer(sent)
        if response.status == 429 { Trace.reached(.limitSeen) }
        // As nginx says it, for devices whose clock is wrong.
        let date = ("Date", S3Timestamp(ScriptedS3.wallClock()).http)
        return HTTPResponse(
            status: response.status, fields: response.fields.map { ($0.name, $0.value) } + [date],
            body: Data(response.body))
    }

    private func store(_ request: HTTPRequest, _ target: String, _ body: [UInt8]) async throws(HTTPTransportError)
        -> HTTPResponse
    {
        var fields = request.fields
        fields.append(("Host", World.s3Host))
        if !fields.contains(where: { $0.name.lowercased() == "content-length" }),
            !body.isEmpty || request.method == "PUT"
        {
            fields.append(("Content-Length", String(body.count)))
        }
        switch world.store.answer(request.method, target, fields, body) {
        case .response(let reply):
            var named = reply.fields.map { (name: $0.name, value: $0.value) }
            if !reply.hidesBody, !named.contains(where: { $0.name == "Content-Length" }) {
                named.append(("Content-Length", String(reply.body.count)))
            }
            return HTTPResponse(status: reply.status, fields: named, body: Data(reply.hidesBody ? [] : reply.body))
        case .broken: throw .interrupted
        case .silence:
            try await pause(request.idleTimeout)
            throw .timedOut
        }
    }

    private func pause(_ duration: Duration, afterEffect: Bool = false) async throws(HTTPTransportError) {
        do { try await LoopActor.sleep(for: duration) } catch { throw .cancelled }
        if afterEffect, !isAlive { Trace.reached(.appKilledBetween) }
        await check()
    }
}
