@_spi(ExperimentalCustomExecutors) import _Concurrency
import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

// One seed in one process: a trap is a finding, too. `deploy/simulation` runs many.
_createExecutors(factory: VirtualExecutors.self)
if let options = ComparisonOptions(CommandLine.arguments) { Comparison.run(options) }
let options = SimulationOptions(CommandLine.arguments)
Plant.current = options.plant
Fault.leftOut = options.leftOut
VirtualTime.begin(seed: options.seed)
signal(SIGPIPE, SIG_IGN)
let status = LoopActor.run {
    simulation_sockets(options.folder)
    Trace.isShown = options.isTraced
    do {
        let world = try World(seed: options.seed, devices: options.devices, in: options.folder)
        // libfcgi has taken it for its own use.
        signal(SIGTERM, SIG_DFL)
        let looking = LoopActor.spawn {
            while !Task.isCancelled {
                try? await LoopActor.sleep(for: .seconds(3600))
                world.oracle.look()
            }
        }
        try await world.run(days: options.days)
        looking.cancel()
    } catch { Finding.end("the world does not start: \(error)") }
    print("events \(Trace.events), jobs \(VirtualTime.shared.jobs), trace \(String(Trace.digest, radix: 16))")
    for (state, count) in Trace.states.sorted(by: { $0.key < $1.key }) { print("reached \(state): \(count)") }
    for (what, count) in Trace.peaks.sorted(by: { $0.key < $1.key }) { print("most \(what): \(count)") }
    return 0
}
fflush(nil)
_exit(status)
