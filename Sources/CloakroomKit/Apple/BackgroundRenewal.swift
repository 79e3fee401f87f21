#if canImport(BackgroundTasks) && !os(macOS)
    /// Renews assets while the app is in the background, every now and then: the system decides when.
    ///
    /// ``register()`` belongs into the app's launch, ``schedule()`` where the app goes to the background. The identifier
    /// has to stand in the app's Info.plist under `BGTaskSchedulerPermittedIdentifiers`, and `UIBackgroundModes` needs
    /// `processing` or `fetch`. Other work has ``BackgroundWork``.
    public struct BackgroundRenewal: Sendable {
        /// Which kind of background task is requested.
        public enum Kind: Sendable, Hashable {
            /// Minutes, mostly at night and while charging; for apps with many assets. Mode `processing`.
            case processing
            /// Half a minute, at times when the app is used; for a hundred assets or two. Mode `fetch`.
            case refresh
        }

        public var identifier: String { work.identifier }
        private let work: BackgroundWork

        /// - Parameters:
        ///   - interval: how long after ``schedule()``, or after a run, the next one begins at the earliest.
        ///   - renew: such as `AssetRenewalManager.renewIfNeeded()` of the user who is signed in by then. It is cancelled when
        ///     the system's time is over and must end soon then; what is left is the next run's.
        public init(
            identifier: String, kind: Kind = .processing, interval: Duration = .seconds(86_400),
            renew: @escaping @Sendable () async throws -> Void
        ) {
            let workKind: BackgroundWork.Kind
            switch kind {
            case .processing: workKind = .processing(requiresExternalPower: false)
            case .refresh: workKind = .refresh
            }
            work = BackgroundWork(identifier: identifier, kind: workKind, interval: interval, work: renew)
        }

        /// Once for each identifier, before the app has finished launching; the system ends apps that do it twice.
        ///
        /// - Returns: `false` when the identifier is not in the Info.plist.
        public func register() -> Bool { work.register() }

        /// Requests the next run. A request that waits already is never postponed, so an app may call this often.
        ///
        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/backgroundNotAllowed`` when the user has turned background work
        ///   off, or the system rejects the request.
        public func schedule() async throws(CloakroomError) { try await work.schedule() }
    }
#endif
