import CloakroomCLinux
import CloakroomFastCGI
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Checks over each worker's own socket, as nginx would, whether it is ready.
@LoopActor
struct SocketsCheck {
    private let dependencies: DoctorDependencies
    private static let maximumBytes = 65_536

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        guard !dependencies.options.sockets.isEmpty else {
            return [
                CheckName.sockets.skipped(
                    "the workers' sockets were not checked",
                    advice: "say with --listen and --workers where they are, as to serve")
            ]
        }
        let sockets = dependencies.options.sockets
        let outcomes = await Self.outcomes(sockets, timeout: .seconds(3))
        return SocketFindings.all(zip(sockets, outcomes).map { ($0.description, $1) })
    }

    /// Of all workers at once: silent ones take no longer than one.
    static func outcomes(_ addresses: [ListenAddress], timeout: Duration) async -> [SocketOutcome] {
        let probes = addresses.map { address in LoopActor.spawn { await probe(address, timeout: timeout) } }
        return await withTaskCancellationHandler {
            var outcomes: [SocketOutcome] = []
            for probe in probes { outcomes.append(await probe.value) }
            return outcomes
        } onCancel: {
            for probe in probes { probe.cancel() }
        }
    }

    private static func probe(_ address: ListenAddress, timeout: Duration) async -> SocketOutcome {
        var code: Int32 = 0
        let descriptor =
            switch address {
            case .unix(let path): cloakroom_connect_unix(path, &code)
            case .internet(let host, let port): cloakroom_connect_internet(host, port, &code)
            }
        guard descriptor >= 0 else { return .unreachable(String(cString: strerror(code))) }
        defer { close(descriptor) }
        guard code == 0 || code == EINPROGRESS else { return .unreachable(String(cString: strerror(code))) }
        var unsent = request[...]
        var answer: [UInt8] = []
        let end = ContinuousClock.now + timeout
        while .now < end {
            if !unsent.isEmpty {
                let count = unsent.withUnsafeBytes { cloakroom_send(descriptor, $0.baseAddress, $0.count) }
                if count > 0 { unsent = unsent.dropFirst(count) }
            } else {
                var piece = [UInt8](repeating: 0, count: 8192)
                let count = piece.withUnsafeMutableBytes { cloakroom_receive(descriptor, $0.baseAddress, $0.count) }
                if count > 0 { answer += piece[..<count] }
                if let outcome = outcome(answer) { return outcome }
                if count == 0 || answer.count > maximumBytes { return .silent }
            }
            do { try await LoopActor.sleep(for: .milliseconds(5)) } catch { return .silent }
        }
        return .silent
    }

    // MARK: FastCGI Specification 1.0, §3.3 and §6

    private static var request: [UInt8] {
        // A responder, and the connection is closed afterwards.
        var bytes = record(1, [0, 1, 0, 0, 0, 0, 0, 0])
        bytes += record(4, pair("REQUEST_METHOD", "GET") + pair("REQUEST_URI", "/readyz"))
        bytes += record(4, [])
        bytes += record(5, [])
        return bytes
    }

    private static func pair(_ name: String, _ value: String) -> [UInt8] {
        let lengths: [UInt8] = [UInt8(name.utf8.count), UInt8(value.utf8.count)]
        return lengths + Array(name.utf8) + Array(value.utf8)
    }

    private static func record(_ kind: UInt8, _ content: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [1, kind, 0, 1, 0, UInt8(content.count), 0, 0]
        return head + content
    }

    /// - Returns: `nil` until the request's end has come.
    private static func outcome(_ bytes: [UInt8]) -> SocketOutcome? {
        var output: [UInt8] = []
        var rest = bytes[...]
        while rest.count >= 8 {
            let head = Array(rest.prefix(8))
            let length = Int(head[4]) << 8 | Int(head[5])
            let padding = Int(head[6])
            guard rest.count >= 8 + length + padding else { return nil }
            let content = rest.dropFirst(8).prefix(length)
            rest = rest.dropFirst(8 + length + padding)
            if head[1] == 6 { output += content }
            if head[1] == 3 { return outcome(ofCGI: output) }
        }
        return nil
    }

    /// RFC 3875 §6.3.3.
    private static func outcome(ofCGI output: [UInt8]) -> SocketOutcome {
        guard let end = output.firstRange(of: Array("\r\n\r\n".utf8)) else { return .silent }
        let head = String(decoding: output[..<end.lowerBound], as: UTF8.self)
        let status = head.firstMatch(of: /(?i)(?:^|\r\n)Status: ([0-9]{3})/).flatMap { Int($0.1) }
        return .answered(status: status ?? 200, body: Array(output[end.upperBound...]))
    }
}
