public import CloakroomKit
import Foundation

#if canImport(Combine)
    public import Combine
#endif

/// The state of the storage settings: how much is where, how long photos stay, freeing space, downloading all photos,
/// alarms and devices.
@MainActor
public final class StorageSettingsModel {
    public struct State: Sendable, Equatable {
        /// `nil` until it was read once.
        public internal(set) var usage: StorageUsage?
        /// What is in the cold tier alone; `nil` until it was read once.
        public internal(set) var remote: DownloadPlan?
        /// Of the cold tier; `nil` where it does not say.
        public internal(set) var quota: TierAvailability.Quota?
        /// Why the cold tier cannot be used now; `nil` when it can.
        public internal(set) var unavailability: CloakroomError?
        public internal(set) var policy = RetentionPolicy()
        public internal(set) var alarms: [TierAlarm] = []
        /// `nil` until the cold tier was read once.
        public internal(set) var devices: [PhotoDevice]?
        public internal(set) var task = StorageTask.none
        /// Why the last call failed.
        public internal(set) var failure: CloakroomError?
    }

    #if canImport(Combine)
        @Published
    #endif
    public private(set) var state = State() { didSet { feed.send(state) } }

    private let store: any PhotoStoring
    private let feed = StateFeed<State>()
    private var running: Task<Void, Never>?
    /// By the user.
    private var changes = 0

    public convenience init(store: TieredPhotoStore) { self.init(storing: store) }

    init(storing store: any PhotoStoring) { self.store = store }

    /// The state now, and each one after it.
    public func states(
        buffering policy: AsyncStream<State>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<State> {
        feed.states(from: state, buffering: policy)
    }

    /// Reads all that is shown: what this device knows first, then what the cold tier says.
    public func refresh() async {
        state.failure = nil
        await refreshLocal()
        let availability = await store.availability()
        var next = state
        next.quota = availability.quota
        next.unavailability = availability.failure
        state = next
        if availability.failure == nil {
            await attempt {
                try await self.store.devices()
            } apply: {
                $0.devices = $1
            }
        }
    }

    /// How long photos stay on this device. It holds from the next run on: nothing leaves at once.
    public func choose(_ period: RetentionPolicy.Period) async {
        await attempt {
            var policy = await self.store.policy
            policy.period = period
            try await self.store.setPolicy(policy)
            return policy
        } apply: {
            $0.policy = $1
            self.changes += 1
        }
    }

    /// Counts what freeing space would do: then the task is ``StorageTask/confirmFreeing(_:)``.
    public func previewFreeingSpace() async {
        await begin(.counting) { model in
            .confirmFreeing(await model.store.freeSpace(.preview, progress: nil))
        }
    }

    /// Frees space, once the user has seen what that does: without ``StorageTask/confirmFreeing(_:)`` nothing happens.
    public func freeSpace() async {
        guard case .confirmFreeing = state.task, state.task.canContinue else { return }
        await begin(.freeing(StorageTask.PhotoCount(done: 0, total: 0))) { model in
            .freed(
                await model.counting(StorageTask.freeing) { progress in
                    await model.store.freeSpace(.perform, progress: progress)
                })
        }
    }

    /// Counts what downloading all photos takes: then the task is ``StorageTask/confirmDownload(_:)``.
    public func previewDownload() async {
        await begin(.counting) { model in .confirmDownload(try await model.store.downloadPlan()) }
    }

    /// Downloads all photos and keeps them, once the user has seen what that takes, and when there is room.
    public func downloadAll() async {
        guard case .confirmDownload(let plan) = state.task, state.task.canContinue else { return }
        await begin(.downloading(StorageTask.PhotoCount(done: 0, total: plan.photoCount))) { model in
            .downloaded(
                await model.counting(StorageTask.downloading) { progress in
                    await model.store.restoreAll(progress: progress)
                })
        }
    }

    /// The user has decided against it, or has read what came of it. It stops nothing that is under way.
    public func dismissTask() {
        if !state.task.isUnderWay { state.task = .none }
    }

    /// Ends what is under way after the photo that is, and at once what waits for a run; its report says how far it came.
    public func stop() { running?.cancel() }

    /// The user has read an alarm, and wants to go on: everything is proven anew before anything leaves the device.
    ///
    /// Not ``TierAlarm/Kind/accountChanged``, which fails: see ``previewAccountChange()``.
    public func dismissAlarm(_ kind: TierAlarm.Kind) async {
        await attempt {
            try await self.store.dismissAlarm(kind)
            return try await self.store.alarms()
        } apply: {
            $0.alarms = $1
            self.changes += 1
        }
    }

    /// Counts what it would do to upload these photos to the account that is signed in: then the task is
    /// ``StorageTask/confirmAccount(_:)``, or ``StorageTask/none`` where it is the photos' own.
    public func previewAccountChange() async {
        await begin(.counting) { model in
            guard let change = try await model.store.accountChange() else { return .none }
            return .confirmAccount(change)
        }
    }

    /// Has these photos be those of the account that is signed in, once the user has seen what that does: without
    /// ``StorageTask/confirmAccount(_:)`` nothing happens.
    public func acceptAccount() async {
        guard case .confirmAccount(let change) = state.task else { return }
        state.task = .none
        await attempt {
            try await self.store.acceptAccount(change.account)
            return try await self.store.alarms()
        } apply: {
            $0.alarms = $1
            self.changes += 1
        }
    }

    /// The user wants to give up a device: then the task is ``StorageTask/confirmRemoval(_:)``. Not for this one.
    public func previewRemoval(of id: DeviceID) {
        guard !state.task.isUnderWay, let device = state.devices?.first(where: { $0.id == id }), !device.isThisOne
        else { return }
        state.task = .confirmRemoval(device)
    }

    /// Gives up a lost device, once the user has confirmed it: without ``StorageTask/confirmRemoval(_:)`` nothing happens.
    public func removeDevice() async {
        guard case .confirmRemoval(let device) = state.task else { return }
        state.task = .none
        await attempt {
            try await self.store.dismissDevice(device.id)
            return try await self.store.devices()
        } apply: {
            $0.devices = $1
        }
    }

    private func refreshLocal() async {
        var begun: Int
        repeat {
            begun = changes
            await attempt {
                (
                    usage: try await self.store.usage(), plan: try await self.store.downloadPlan(),
                    policy: await self.store.policy, alarms: try await self.store.alarms()
                )
            } apply: {
                // What was read before the user's change is not what is there now.
                guard begun == self.changes else { return }
                $0.usage = $1.usage
                $0.remote = $1.plan
                $0.policy = $1.policy
                $0.alarms = $1.alarms
            }
        } while begun != changes
    }

    /// Sets what was read or done, or why that failed.
    private func attempt<Value>(
        _ work: () async throws -> Value, apply: (inout State, Value) -> Void
    ) async {
        do {
            let value = try await work()
            var next = state
            apply(&next, value)
            state = next
        } catch {
            state.failure = CloakroomError(of: error)
        }
    }

    /// Runs one task, unless another one is under way, and reads anew what it has changed. It goes on when the screen is
    /// left.
    private func begin(
        _ task: StorageTask, _ work: @escaping @MainActor (StorageSettingsModel) async throws -> StorageTask
    ) async {
        guard !state.task.isUnderWay else { return }
        var next = state
        next.task = task
        next.failure = nil
        state = next
        let run = Task {
            do {
                state.task = try await work(self)
            } catch {
                state.task = .none
                state.failure = CloakroomError(of: error)
            }
        }
        running = run
        await run.value
        running = nil
        await refreshLocal()
    }

    /// Shows each count of a run, in its order.
    private func counting<Report: Sendable>(
        _ task: (StorageTask.PhotoCount) -> StorageTask,
        _ run: @escaping @Sendable (_ progress: @escaping @Sendable (Int, Int) -> Void) async -> Report
    ) async -> Report {
        let (counts, continuation) = AsyncStream.makeStream(
            of: StorageTask.PhotoCount.self, bufferingPolicy: .bufferingNewest(1))
        async let report = {
            defer { continuation.finish() }
            return await run { done, total in
                continuation.yield(StorageTask.PhotoCount(done: done, total: total))
            }
        }()
        for await count in counts { state.task = task(count) }
        return await report
    }
}

#if canImport(Combine)
    extension StorageSettingsModel: ObservableObject {}
#endif
