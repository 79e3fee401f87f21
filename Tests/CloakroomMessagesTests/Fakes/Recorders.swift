import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Synchronization

/// Ends a purge at a point, as the end of the process does, and records what was slept.
final class Interruption: Sendable {
    private struct State {
        var point: PurgeStep?
        var failure: any Error = PurgeInterrupted()
        var crossed: [PurgeStep] = []
        var sleeps: [Duration] = []
    }

    private let state = Mutex(State())
    /// Gets each duration that ``MessageRetention/run()`` sleeps, and says when it wakes up.
    let onSleep = Mutex<@Sendable (Duration) async throws -> Void>({ _ in try await Task.sleep(for: .seconds(3600)) })

    /// - Parameter failure: an error of the step in the place of the end of the process.
    func end(at point: PurgeStep?, with failure: any Error = PurgeInterrupted()) {
        state.withLock { ($0.point, $0.failure) = (point, failure) }
    }

    func cross(_ step: PurgeStep) throws {
        try state.withLock {
            $0.crossed.append(step)
            if $0.point == step { throw $0.failure }
        }
    }

    var crossed: [PurgeStep] { state.withLock { $0.crossed } }

    func sleep(_ duration: Duration) async throws {
        state.withLock { $0.sleeps.append(duration) }
        let onSleep = onSleep.withLock { $0 }
        try await onSleep(duration)
    }

    var sleeps: [Duration] { state.withLock { $0.sleeps } }
}

/// What an app removes elsewhere.
final class RecordingHandler: ExpiredMessageHandler {
    private let state = Mutex<(messages: [MessageReference], failure: CloakroomError?)>(([], nil))

    var messages: [MessageReference] { state.withLock { $0.messages } }
    var ids: [String] { messages.map(\.id.rawValue) }

    func fail(with error: CloakroomError?) { state.withLock { $0.failure = error } }

    func remove(_ messages: [MessageReference]) async throws {
        let failure = state.withLock {
            $0.messages += messages
            return $0.failure
        }
        if let failure { throw failure }
    }
}

final class RecordingCache: PurgeableAssetCache {
    private let state = Mutex<[String]>([])

    var keys: [String] { state.withLock { $0 } }

    func removeCachedContent(forKey key: String) async throws { state.withLock { $0.append(key) } }
}

actor MemoryRecoveryJournal: RecoveryJournal {
    private var byAsset: [RenewableAsset: RecoveryRecord] = [:]

    func records() -> [RecoveryRecord] { Array(byAsset.values) }
    func record(of asset: RenewableAsset) -> RecoveryRecord? { byAsset[asset] }
    func write(_ record: RecoveryRecord) { byAsset[record.asset] = record }
    func remove(_ asset: RenewableAsset) { byAsset[asset] = nil }
}

/// A worker whose results are scripted.
final class ScriptedReleaser: ImageReleaser {
    private struct State {
        var outcomes: [String: ImageReleaseResult.Outcome] = [:]
        var failure: CloakroomError?
        var keys: [String] = []
    }

    private let state = Mutex(State())

    var keys: [String] { state.withLock { $0.keys } }

    func set(_ outcome: ImageReleaseResult.Outcome, for key: String) { state.withLock { $0.outcomes[key] = outcome } }
    func fail(with error: CloakroomError?) { state.withLock { $0.failure = error } }

    func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult] {
        try state.withLock { state in
            state.keys += images.map(\.objectKey)
            if let failure = state.failure { throw failure }
            return images.map { image in
                let outcome = state.outcomes[image.objectKey] ?? .released(bytesGoneBy: nil)
                return ImageReleaseResult(objectKey: image.objectKey, outcome: outcome)
            }
        }
    }
}

extension CloakroomError {
    /// The code of what a body throws; `nil` when it throws nothing.
    static func code(_ body: () async throws -> Void) async -> Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CloakroomError)?.code ?? .unknown
        }
    }
}
