import CloakroomAWS
import CloakroomBenchSupport
import CloakroomMessages
import Foundation
import Synchronization

/// When the next of many messages is over, beside when the next of few is.
struct NextDeadline {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let many = try Fill(arguments)
        let few = Fill(
            count: try arguments.number("few"), conversations: many.conversations, byteCount: many.byteCount,
            folder: URL(fileURLWithPath: try arguments.text("other"), isDirectory: true))
        _ = try await few.run()
        // The last has come, and the first is not over yet.
        let time = BenchDevice.begin + BenchMessages.week - 1
        let devices = (
            try await BenchDevice(many.folder, at: time), try await BenchDevice(few.folder, at: time)
        )
        let calls = try arguments.number("calls")
        var (ratios, manyTimes, fewTimes): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0...(try arguments.number("rounds")) {
            let ofFew = try await look(devices.1.retention, calls)
            let ofMany = try await look(devices.0.retention, calls)
            // The first round fills the caches of both.
            guard round > 0 else { continue }
            ratios.append(ofMany / ofFew)
            manyTimes.append(ofMany / Double(calls) * 1000)
            fewTimes.append(ofFew / Double(calls) * 1000)
        }
        return ["ratio": ratios.median, "us": manyTimes.median, "us_other": fewTimes.median]
    }

    /// In milliseconds of CPU.
    private func look(_ retention: MessageRetention, _ calls: Int) async throws -> Double {
        try await CPUTime.milliseconds {
            for _ in 0..<calls {
                guard try await retention.nextDeadline() != nil else { throw BenchError("there is no deadline") }
            }
        }
    }
}

/// The file of keys when each conversation has a message in each slot of its policy.
struct Keys {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    /// More than a week has slots.
    private static let messagesEach = 20

    func run() async throws -> [String: Double] {
        let conversations = try arguments.number("conversations")
        let fill = Fill(
            count: conversations * Self.messagesEach, conversations: conversations, byteCount: 100,
            folder: arguments.folder)
        _ = try await fill.run()
        let full = try size(of: BenchDevice.keys)
        let due = fill.count / 100
        let device = try await BenchDevice(fill.folder, at: fill.end(ofFirst: due))
        let report = try await device.retention.purge()
        guard report.isComplete, report.purgedCount == due else { throw BenchError("\(report)") }
        return ["bytes": max(full, try size(of: BenchDevice.keys)), "reserve": try size(of: "keys/keys.reserve")]
    }

    private func size(of name: String) throws -> Double {
        let path = arguments.folder.appendingPathComponent("messages/\(name)").path
        guard let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else {
            throw BenchError("\(path) has no size")
        }
        return Double(size)
    }
}

/// A device that has messages, and none that ends soon: how often it looks at a clock, as it has to for whatever it does.
struct Idle {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let vault = FileKeyVault(folder: arguments.folder.appendingPathComponent("vault", isDirectory: true))
        let storage = try await SQLiteMessageStorage(
            folder: arguments.folder.appendingPathComponent("messages", isDirectory: true), vault: vault)
        guard let own = ParticipantID(rawValue: "own") else { throw BenchError("no participant") }
        let looks = Mutex(0)
        let count = { @Sendable in looks.withLock { $0 += 1 } }
        let retention = try await MessageRetention(
            of: own, storage: storage,
            runtime: RuntimeDependencies(
                wallClock: {
                    count()
                    return Date()
                },
                now: {
                    count()
                    return .now
                },
                sleep: { duration in
                    count()
                    try await Task.sleep(for: duration)
                    count()
                }),
            read: {
                count()
                return .current()
            })
        let conversation = try BenchMessages.conversation(0)
        try await retention.updateRetentionPolicy(.oneWeek, in: conversation, applyingTo: .newMessages)
        for number in 0..<100 {
            _ = try await retention.admit(
                BenchMessages.message(number, .oneWeek, in: conversation, at: nil, byteCount: 100))
        }
        let before = looks.withLock { $0 }
        let running = Task { await retention.run() }
        // It looks for what is due first of all, and sleeps then.
        sleep(1)
        let sleeping = looks.withLock { $0 }
        guard sleeping > before else { throw BenchError("it did not begin to run") }
        sleep(UInt32(try arguments.number("seconds")))
        let after = looks.withLock { $0 }
        running.cancel()
        await running.value
        return ["wakeups": Double(after - sleeping), "looks_before": Double(sleeping - before)]
    }
}
