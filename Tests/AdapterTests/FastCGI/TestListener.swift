import CloakroomFastCGI
import Glibc
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport

/// A listener on a unix socket of the test's own.
@LoopActor
final class TestListener {
    let listener: FastCGIListener
    private let folder: TemporaryFolder
    private nonisolated let path: String

    init(_ limits: FastCGIListener.Limits = .init(bodyBytes: 65_536), handler: @escaping FastCGIListener.Handler) throws
    {
        folder = try TemporaryFolder()
        path = folder["w.sock"]
        let address = ListenAddress.unix(path: path)
        let socket = try address.listen()
        listener = try FastCGIListener(
            socket: socket, limits: limits, fields: FieldTable(["Authorization", "Content-Type"]),
            tooLarge: Response(status: 413, body: Array("too large".utf8)), handler: handler)
        try address.publish(listener: getpid())
    }

    /// Answers with what was asked.
    static func echoing(_ limits: FastCGIListener.Limits = .init(bodyBytes: 65_536)) throws -> TestListener {
        try TestListener(limits) { request, respond in
            let token = request.fields["Authorization"] ?? "-"
            let text = "\(request.method) \(request.path) \(request.query) \(token) "
            let answer = Response(status: 200, fields: ["X": "y"], body: Array(text.utf8) + request.body)
            // Both ways a handler may answer.
            if request.path.hasSuffix("7") { LoopActor.spawn { respond(answer) } } else { respond(answer) }
        }
    }

    /// Connections that are open.
    var connections: Int { listener.connectionCount }

    nonisolated var address: ListenAddress { .unix(path: path) }

    nonisolated func connect() throws -> Peer { try Peer(unixPath: path) }

    /// On a connection of its own, which the listener is asked to close.
    nonisolated func ask(_ target: String) throws -> String {
        var request = FastCGIRequest(target: target)
        request.keepsConnection = false
        let peer = try connect()
        try peer.write(request.bytes)
        var reader = FastCGIResponseReader()
        try reader.feed(peer.readToEnd())
        return reader.answers.map(\.text).joined(separator: "|")
    }
}

extension Peer {
    /// - Throws: when the connection ends before so many answers are whole.
    func answers(_ count: Int = 1) throws -> [FastCGIResponse] {
        var reader = FastCGIResponseReader()
        while reader.answers.count < count {
            let bytes = try read()
            guard !bytes.isEmpty else { throw ConnectionError.broken(0) }
            try reader.feed(bytes)
        }
        return reader.answers
    }
}
