/// When a message was sent, and by which clock that is known.
package struct MessageBase: Sendable, Hashable {
    /// Which clock a base, and the deadlines from it, are by.
    ///
    /// A device whose clock is wrong, and that has not heard of the server's time, still knows how much time has
    /// passed. What it receives then is measured by that: by the wall clock a message would be over at once when the
    /// right time becomes known, or would stay a day too long.
    package enum Clock: Sendable, Hashable {
        /// The relay's: the same on all devices.
        case relay
        /// The server's, at the receipt.
        case server
        /// Time that has passed while this device was on; runs count its starts from 0.
        case device(run: Int64)
    }

    package let time: Milliseconds
    package let clock: Clock
    /// By how much the wall clock was ahead of the device's time when the message was received; 0 for other clocks.
    package let wallLead: Milliseconds
    /// By how much the wall clock had been set ahead while the device was on; 0 for other clocks.
    package let setAhead: Milliseconds

    package init(time: Milliseconds, clock: Clock, wallLead: Milliseconds = 0, setAhead: Milliseconds = 0) {
        self.time = time
        self.clock = clock
        self.wallLead = wallLead
        self.setAhead = setAhead
    }

    /// ``wallLead`` if it had not been.
    package var steadyLead: Milliseconds { wallLead.minus(setAhead) }
}

extension MessageBase.Clock: RawRepresentable {
    /// How it is stored: 0 the relay's, 1 the server's, from 2 on the runs of the device's own.
    package var rawValue: Int64 {
        switch self {
        case .relay: 0
        case .server: 1
        case .device(let run): run.plus(2)
        }
    }

    package init?(rawValue: Int64) {
        switch rawValue {
        case 0: self = .relay
        case 1: self = .server
        case 2...: self = .device(run: rawValue - 2)
        default: return nil
        }
    }
}
