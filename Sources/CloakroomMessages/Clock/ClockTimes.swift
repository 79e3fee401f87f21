/// Times that deadlines are compared with.
package struct ClockTimes: Sendable, Hashable {
    /// For messages whose base is by the relay's or the server's clock.
    package var shared: Milliseconds
    /// For messages whose base is by the device's.
    package var device: Milliseconds
    /// For the same: they are also due when deadline + ``MessageBase/wallLead`` is no later than this.
    package var wall: Milliseconds
    /// For the same: they are also due when deadline + ``MessageBase/steadyLead`` is no later than this.
    package var steady: Milliseconds
    /// The last run of the device whose messages ``wall`` and ``steady`` are for.
    package var lastRunOnWall: Int64

    package init(
        shared: Milliseconds, device: Milliseconds, wall: Milliseconds, steady: Milliseconds, lastRunOnWall: Int64
    ) {
        self.shared = shared
        self.device = device
        self.wall = wall
        self.steady = steady
        self.lastRunOnWall = lastRunOnWall
    }

    /// Whether a message is over.
    ///
    /// - Parameter deadline: by the base's clock; `nil`: never.
    package func isDue(_ deadline: Milliseconds?, base: MessageBase) -> Bool {
        guard let deadline else { return false }
        guard case .device(let run) = base.clock else { return deadline <= shared }
        guard deadline > device else { return true }
        guard run <= lastRunOnWall else { return false }
        return deadline.plus(base.wallLead) <= wall || deadline.plus(base.steadyLead) <= steady
    }

    /// How long until it is over, if nothing unexplained happens; 0 when it is; `nil`: never.
    package func remaining(until deadline: Milliseconds?, base: MessageBase) -> Milliseconds? {
        guard let deadline else { return nil }
        guard case .device(let run) = base.clock else { return max(0, deadline.minus(shared)) }
        let certain = max(0, deadline.minus(device))
        guard run <= lastRunOnWall else { return certain }
        let onWall = min(deadline.plus(base.wallLead).minus(wall), deadline.plus(base.steadyLead).minus(steady))
        return min(certain, max(0, onWall))
    }
}
