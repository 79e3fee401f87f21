import CloakroomKit
import CloakroomKitTestSupport
import CloakroomKitTesting
import Foundation
import Testing

/// A transport that answers from a script, writes down what it was asked, and counts how many ask at once.
///
///     let http = ScriptedHTTP(.response(503), .failure(.timedOut), .json(200, #"{"renewed":0}"#))
///     let http = ScriptedHTTP { request, number in request.method == "PUT" ? .response(200) : .response(404) }
actor ScriptedHTTP: HTTPTransport {
    enum Step: Sendable {
        case response(HTTPResponse)
        case failure(HTTPTransportError)
        /// Comes when the gate is open; a cancelled request fails with ``HTTPTransportError/cancelled`` before.
        indirect case held(Gate, Step)

        static func response(
            _ status: Int, _ fields: [(name: String, value: String)] = [], _ body: Data = Data()
        ) -> Step {
            .response(HTTPResponse(status: status, fields: fields, body: body))
        }

        static func json(
            _ status: Int, _ body: String, _ fields: [(name: String, value: String)] = []
        ) -> Step {
            response(status, [("Content-Type", "application/json")] + fields, Data(body.utf8))
        }

        /// Never comes; ends by cancellation only.
        static var hang: Step { .held(Gate(), .failure(.timedOut)) }
    }

    /// A request as it came.
    struct Sent: Sendable {
        let request: HTTPRequest
        /// Its body, read from the file where it is one.
        let body: Data

        /// Method and URL, such as `PUT https://bucket.example/key`.
        var line: String { "\(request.method) \(request.url.absoluteString)" }
        var text: String { String(decoding: body, as: UTF8.self) }

        subscript(name: String) -> String? {
            request.fields.first { $0.name.caseInsensitiveCompare(name) == .orderedSame }?.value
        }
    }

    private let script: @Sendable (HTTPRequest, _ number: Int) async -> Step?
    private(set) var sent: [Sent] = []
    private(set) var concurrency = 0
    /// The most requests there were at once.
    private(set) var highestConcurrency = 0
    private var arrivals: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// - Parameter script: is told the request and its number, from 0.
    init(_ script: @escaping @Sendable (HTTPRequest, _ number: Int) async -> Step) { self.script = script }

    /// One step each, in order; a request beyond the last one is the test's failure.
    init(_ steps: Step...) {
        script = { _, number in steps.indices.contains(number) ? steps[number] : nil }
    }

    /// What came, as ``Sent/line``.
    var lines: [String] { sent.map(\.line) }

    /// Comes back once so many requests have arrived, in all.
    func arrival(of count: Int) async {
        guard sent.count < count else { return }
        await withCheckedContinuation { arrivals.append((count, $0)) }
    }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        if Task.isCancelled { throw .cancelled }
        let body = try request.body.contents()
        let number = sent.count
        sent.append(Sent(request: request, body: body))
        concurrency += 1
        highestConcurrency = max(highestConcurrency, concurrency)
        defer { concurrency -= 1 }
        arrivals.removeAll { waiting in
            guard waiting.count <= sent.count else { return false }
            waiting.continuation.resume()
            return true
        }
        guard var step = await script(request, number) else {
            Issue.record("nobody expected request \(number): \(request.method) \(request.url)")
            throw .unreachable
        }
        while case .held(let gate, let next) = step {
            guard await gate.pass() else { throw .cancelled }
            step = next
        }
        switch step {
        case .failure(let error): throw error
        case .held: throw .cancelled
        case .response(let response):
            progress?(HTTPProgress(bytesSent: Int64(body.count)))
            let delivered = try response.delivered(to: request.destination)
            progress?(HTTPProgress(bytesSent: Int64(body.count), bytesReceived: delivered.byteCount))
            return delivered
        }
    }
}
