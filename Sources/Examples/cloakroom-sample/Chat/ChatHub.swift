import CloakroomKit
import Foundation

/// The peers as processes, and the channel between them: what one sends, each of the others gets.
final class ChatHub {
    private struct Peer {
        let name: String
        let process: Process
        let pipe: ChatPipe
    }

    private var peers: [Peer] = []
    /// The time that has passed for the peers beyond that of this machine.
    private let clock: URL
    private var passed: Int

    init(_ names: [String], folder: URL) throws {
        // One that has ended is found by what reading from it gives.
        signal(SIGPIPE, SIG_IGN)
        clock = folder.appendingPathComponent("clock")
        passed = (try? String(contentsOf: clock, encoding: .utf8)).flatMap { Int($0) } ?? 0
        guard let program = Bundle.main.executableURL else { throw UsageError("the program's own file is not known") }
        for name in names {
            let process = Process()
            let (input, output) = (Pipe(), Pipe())
            process.executableURL = program
            process.arguments = [
                "chat", "--as", name, "--peers", names.joined(separator: ","), "--clock", "\(passed)s",
                "--state", folder.appendingPathComponent(name, isDirectory: true).path,
            ]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            // Its own ends would keep the pipes open.
            try input.fileHandleForReading.close()
            try output.fileHandleForWriting.close()
            let pipe = ChatPipe(reading: output.fileHandleForReading, writing: input.fileHandleForWriting)
            peers.append(Peer(name: name, process: process, pipe: pipe))
        }
    }

    /// Each says what it wants.
    func connect() throws {
        for peer in peers { _ = try send(.connect, to: peer) }
    }

    /// - Returns: whether it was done.
    func perform(_ step: ChatStep) throws -> Bool {
        switch step.kind {
        case .clock(let seconds): return try pass(seconds)
        case .action(let action, let names):
            // One that fails does not keep the others from it.
            return try peers.filter { names.contains($0.name) }.map { try send(.perform(action), to: $0) }
                .allSatisfy { $0 }
        }
    }

    func pass(_ seconds: Int) throws -> Bool {
        passed += seconds
        try Data("\(passed)".utf8).write(to: clock, options: .atomic)
        return try peers.map { try send(.pass(seconds), to: $0) }.allSatisfy { $0 }
    }

    /// The end of their input is the peers' end.
    func end() {
        for peer in peers { peer.pipe.endWriting() }
        for peer in peers { peer.process.waitUntilExit() }
        peers = []
    }

    private func send(_ request: ChatRequest, to peer: Peer) throws -> Bool {
        do { try peer.pipe.write(request) } catch { throw ended(peer) }
        guard let reply = try peer.pipe.read(ChatReply.self) else { throw ended(peer) }
        for line in reply.lines { Console.print("\(peer.name): \(line)") }
        var isDone = !reply.hasFailed
        for frame in reply.frames {
            for other in peers where other.name != peer.name {
                if try !send(.deliver(frame, from: peer.name), to: other) { isDone = false }
            }
        }
        return isDone
    }

    private func ended(_ peer: Peer) -> CloakroomError {
        CloakroomError(.unavailable, "the process of \(peer.name) has ended")
    }
}
