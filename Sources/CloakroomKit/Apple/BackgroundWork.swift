// Only these have a scheduler: macOS runs apps as long as they please.
#if canImport(BackgroundTasks) && !os(macOS)
    import BackgroundTasks
    import Foundation

    /// Work that is done while the app is in the background, every now and then: the system decides when.
    ///
    /// ``register()`` belongs into the app's launch, ``schedule()`` where the app goes to the background. The identifier
    /// has to stand in the app's Info.plist under `BGTaskSchedulerPermittedIdentifiers`, and `UIBackgroundModes` needs
    /// `processing` or `fetch`.
    public struct BackgroundWork: Sendable {
        /// Which kind of background task is requested.
        public enum Kind: Sendable, Hashable {
            /// Minutes, mostly at night. Mode `processing`.
            ///
            /// With `requiresExternalPower`, only while charging; the system then does not end work for the processor's
            /// time that it takes.
            case processing(requiresExternalPower: Bool)
            /// Half a minute, at times when the app is used. Mode `fetch`.
            case refresh
        }

        public let identifier: String
        private let kind: Kind
        private let interval: Duration
        /// When there is something to do; `nil` for `interval` from now.
        private let due: @Sendable () async -> Date?
        private let work: @Sendable () async throws -> Void

        /// - Parameters:
        ///   - interval: how long after ``schedule()``, or after a run, the next one begins at the earliest.
        ///   - work: such as a run of the photo store of the user who is signed in by then. It is cancelled when the system's
        ///     time is over and must end soon then; what is left is the next run's.
        public init(
            identifier: String, kind: Kind, interval: Duration = .seconds(86_400),
            work: @escaping @Sendable () async throws -> Void
        ) {
            self.identifier = identifier
            self.kind = kind
            self.interval = interval
            self.work = work
            due = { nil }
        }

        /// What is due by the schedule of the user who is signed in: it begins at the earliest when the next is.
        ///
        /// The identifier is registered once in a process, before the app knows its user, and users change: a schedule itself
        /// would be that of a user who has signed out since.
        ///
        /// - Parameter schedule: called for each run, and by ``schedule()``; opens the user's where that is not open yet. `nil`
        ///   while no user is signed in: then nothing is done.
        public init(identifier: String, kind: Kind, schedule: @escaping @Sendable () async -> WorkSchedule?) {
            let schedule = BackgroundSchedule(current: schedule)
            self.identifier = identifier
            self.kind = kind
            interval = .seconds(86_400)
            work = { await schedule.runDue() }
            due = { await schedule.nextDate() }
        }

        /// Once for each identifier, before the app has finished launching; the system ends apps that do it twice.
        ///
        /// - Returns: `false` when the identifier is not in the Info.plist.
        public func register() -> Bool {
            BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { run($0) }
        }

        /// Requests the next run. A request that waits already is never postponed, so an app may call this often.
        ///
        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/backgroundNotAllowed`` when the user has turned background work
        ///   off, or the system rejects the request.
        public func schedule() async throws(CloakroomError) { try await submit(due: await due()) }

        private func submit(due: Date?) async throws(CloakroomError) {
            let date = BackgroundDate.next(due: due, interval: interval, pending: await pending(), now: Date())
            do {
                try BGTaskScheduler.shared.submit(request(for: date))
            } catch {
                throw CloakroomError(.backgroundNotAllowed, "the system schedules no work in the background: \(error)")
            }
        }

        /// Of the request that waits, if there is one.
        private func pending() async -> Date? {
            await withCheckedContinuation { continuation in
                BGTaskScheduler.shared.getPendingTaskRequests { [identifier] requests in
                    let request = requests.first { $0.identifier == identifier }
                    continuation.resume(returning: request.map { $0.earliestBeginDate ?? .distantPast })
                }
            }
        }

        private func request(for date: Date) -> BGTaskRequest {
            let request: BGTaskRequest
            switch kind {
            case .processing(let requiresExternalPower):
                let processing = BGProcessingTaskRequest(identifier: identifier)
                processing.requiresNetworkConnectivity = true
                processing.requiresExternalPower = requiresExternalPower
                request = processing
            case .refresh: request = BGAppRefreshTaskRequest(identifier: identifier)
            }
            request.earliestBeginDate = date
            return request
        }

        private func run(_ task: BGTask) {
            nonisolated(unsafe) let task = task
            // The one call from elsewhere is the last one, once.
            let run = BackgroundRun {
                // First, so that a run that is ended by force is not the last one. Refused now, it is requested again when
                // the app schedules the next time.
                try? await submit(due: nil)
                do { try await work() } catch {
                    try? await schedule()
                    throw error
                }
                try? await schedule()
            } done: {
                task.setTaskCompleted(success: $0)
            }
            task.expirationHandler = { run.expire() }
        }
    }
#endif
