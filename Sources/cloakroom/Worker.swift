import CloakroomAWS
import CloakroomCLinux
import CloakroomFastCGI
import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// One worker: a loop, a listening socket, the service.
enum Worker {
    /// What a supervisor holds a worker by.
    struct SupervisorLink: Sendable {
        /// The read end of a pipe that ends when the supervisor does.
        var lifeline: Int32?
        /// Shared memory; see ``WorkerMemory``.
        var heartbeat: Int32?

        /// As the supervisor has read them; none where this worker is to read them itself.
        ///
        /// - Parameter path: of the settings file.
        func settingsFiles(_ path: String) -> SettingsFiles {
            guard let heartbeat, let words = try? MappedCounters(descriptor: heartbeat, count: WorkerMemory.count)
            else { return SettingsFiles() }
            let capabilities = WorkerMemory.Capabilities(rawValue: words[WorkerMemory.capabilities])
            guard capabilities.contains(.settingsFiles) || capabilities.contains(.settingsText),
                // Closed when this returns: secrets are in it.
                let text = SharedMemory(adopting: WorkerMemory.settingsDescriptor)
                    .text(limit: WorkerMemory.maximumSettingsBytes)
            else { return SettingsFiles() }
            guard capabilities.contains(.settingsFiles) else { return SettingsFiles(path: path, text: text) }
            return SettingsFiles(text) ?? SettingsFiles()
        }
    }

    static func run(listen address: ListenAddress, settings: Settings, supervisor: SupervisorLink) -> ExitStatus {
        signal(SIGPIPE, SIG_IGN)
        // SIGUSR2 is for a supervisor; sent to all of a service's processes it must not end the workers.
        Signals.block(stopSignals + [SIGHUP, SIGUSR2])
        raiseDescriptorLimit()
        if !settings.server.coreDumps { CoreDumps.refuse() }
        return .onLoop { await serve(on: address, settings, supervisor) }
    }

    private static let stopSignals = [SIGTERM, SIGINT, SIGQUIT]

    @LoopActor
    private static func serve(on address: ListenAddress, _ settings: Settings, _ supervisor: SupervisorLink) async
        -> ExitStatus
    {
        do {
            let heart = try supervisor.heartbeat.map {
                try Heartbeat(descriptor: $0, within: settings.server.hungAfter, drain: settings.server.drain)
            }
            let capabilities = heart?.capabilities ?? []
            let dependencies = try ServiceDependencies(
                settings, worker: address.description,
                sharedFolder: capabilities.contains(.metricsFolder)
                    ? "/proc/self/fd/\(WorkerMemory.metricsFolderDescriptor)" : nil,
                start: heart?.serviceStart ?? ProcessStart.secondsSince1970)
            let builder = try ServiceBuilder(settings, dependencies)
            let log = dependencies.log
            let socket = try address.listen()
            let listener = try FastCGIListener(
                socket: socket, limits: .init(bodyBytes: settings.server.maximumBodyBytes),
                fields: FieldTable(CloakroomService.fieldNames(settings)), tooLarge: CloakroomService.tooLarge
            ) { request, respond in builder.service.respond(to: request, respond) }
            let stop = StopRequest()
            let signals = try Signals(stopSignals + [SIGHUP]) { number in
                if number != SIGHUP { stop.request() }
            }
            if let lifeline = supervisor.lifeline { stop.whenEnded(lifeline) }
            let probing = LoopActor.spawn { await builder.service.watchReadiness() }
            let checkingRedis = LoopActor.spawn { await builder.redisHealth.watch() }
            let fetching = builder.identity.startRefreshingKeys()
            let delivering = builder.eventDelivery.map { delivery in LoopActor.spawn { await delivery.run() } }
            let tracing = builder.tracer.map { tracer in LoopActor.spawn { await tracer.run() } }
            // The first requests should not find Redis unreachable while the connection is being made.
            await dependencies.redis.settle(within: .milliseconds(50))
            // A worker that is to stop already must not take the place of one that goes on.
            if !capabilities.contains(.publishesSocket), !stop.isRequested { try address.publish(listener: getpid()) }
            heart?.start { builder.service.isReady }
            HeapTrimming.start { builder.service.releaseMemory() }
            builder.auditLines?.watch()
            builder.status.start()
            defer { builder.status.remove() }
            if let conflict = LifecycleConflict(LifecycleTerms(settings)) {
                log.error(
                    "lifecycle rules of these settings match users' folders",
                    ["cause": .text(conflict.text), "advice": .text(conflict.advice)])
            }
            log.info("worker is up", ["listen": .text("\(address)"), "process": .integer(Int(getpid()))])
            await stop.wait()
            log.info(
                "worker drains", ["process": .integer(Int(getpid())), "requests": .integer(listener.inFlight)])
            builder.status.own.isDraining = true
            delivering?.cancel()
            await drain(within: settings.server.drain) {
                let copies = LoopActor.spawn { await builder.s3.cancelBackgroundCopies() }
                await listener.drain()
                await copies.value
                // Without Redis that takes seconds, and spans must not wait for it.
                let events = builder.events.map { events in LoopActor.spawn { await events.finish() } }
                await delivering?.value
                await builder.tracer?.finish()
                await events?.value
            }
            builder.events?.abandon()
            builder.tracer?.abandon()
            tracing?.cancel()
            probing.cancel()
            checkingRedis.cancel()
            for task in fetching { task.cancel() }
            withExtendedLifetime((signals, heart)) {}
            return .success
        } catch {
            return Output.fail("cannot serve on \(address): \(error)")
        }
    }

    /// Completes what was accepted and cancels background work, but waits no longer than the settings say.
    @LoopActor
    private static func drain(within limit: Duration, _ body: @escaping @LoopActor @Sendable () async -> Void) async {
        await withCheckedContinuation { continuation in
            let once = Once { continuation.resume() }
            EventPoller.shared.schedule(after: limit) { once.call() }
            LoopActor.spawn {
                await body()
                once.call()
            }
        }
    }

    /// Every connection is a descriptor, here and to the upstreams.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// Something that happens once.
@LoopActor
private final class Once {
    private var body: (() -> Void)?

    init(_ body: @escaping () -> Void) { self.body = body }

    func call() {
        body?()
        body = nil
    }
}
