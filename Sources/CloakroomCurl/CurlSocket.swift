import CloakroomCCurl
import CloakroomLibcurl
import CloakroomLoop

/// One of libcurl's sockets in `epoll`.
///
/// libcurl drops its interest after every transfer and takes it up again with the next on the same connection. The
/// watch for reading therefore stays; it is taken out only when something happens that libcurl no longer waits for.
@LoopActor
final class CurlSocket {
    struct Interest: OptionSet {
        let rawValue: Int32
        nonisolated init(rawValue: Int32) { self.rawValue = rawValue }

        nonisolated static let read = Interest(rawValue: CURL_POLL_IN)
        nonisolated static let write = Interest(rawValue: CURL_POLL_OUT)

        /// - Parameter what: as the socket callback is told.
        nonisolated init(curl what: Int32) { self.init(rawValue: what == CURL_POLL_REMOVE ? 0 : what) }
    }

    private let socket: Int32
    private let act: @LoopActor (Int32) -> Void
    private var interest: Interest
    private var watched: EventPoller.Readiness = []
    private var watch: EventPoller.Watch?

    init(_ socket: Int32, _ interest: Interest, act: @escaping @LoopActor (Int32) -> Void) {
        self.socket = socket
        self.act = act
        self.interest = interest
        update()
    }

    func want(_ interest: Interest) {
        self.interest = interest
        if !interest.isEmpty { update() }
    }

    func unwatch() {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
        watched = []
    }

    private func update() {
        let wanted: EventPoller.Readiness = interest.contains(.write) ? [.readable, .writable] : .readable
        guard wanted != watched else { return }
        watched = wanted
        if let watch {
            EventPoller.shared.rewatch(watch, for: wanted)
        } else {
            watch = EventPoller.shared.watch(socket, for: wanted) { [weak self] readiness in self?.become(readiness) }
        }
    }

    private func become(_ readiness: EventPoller.Readiness) {
        var events: Int32 = 0
        if readiness.contains(.readable) || !readiness.isDisjoint(with: .hangup) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        if readiness.contains(.error) { events |= CURL_CSELECT_ERR }
        if interest.isEmpty { return unwatch() }
        act(events)
    }
}

/// All sockets of a transport, by their numbers.
@LoopActor
final class CurlSockets {
    private var sockets: [CurlSocket?] = []
    /// Which numbers are of connections. Those of libcurl's look-ups of names it opens and closes without a word.
    private var connections: Set<Int32> = []

    /// - Parameter group: whose socket it is.
    func setInterest(_ socket: Int32, _ what: Int32, of group: CurlGroup) {
        let interest = CurlSocket.Interest(curl: what)
        let index = Int(socket)
        if what == CURL_POLL_REMOVE, !connections.contains(socket) {
            forget(socket)
        } else if index < sockets.count, let existing = sockets[index] {
            existing.want(interest)
        } else if what != CURL_POLL_REMOVE {
            while sockets.count <= index { sockets.append(nil) }
            sockets[index] = CurlSocket(socket, interest) { [weak group] events in group?.act(socket, events) }
        }
    }

    private func forget(_ socket: Int32) {
        let index = Int(socket)
        guard sockets.indices.contains(index), let existing = sockets[index].take() else { return }
        existing.unwatch()
    }

    /// - Parameter socket: -1 when none could be opened.
    fileprivate nonisolated func opened(_ socket: Int32) {
        LoopActor.assumeIsolated {
            // A socket that never got connected libcurl closes without a word; this may have its number.
            forget(socket)
            if socket >= 0 { connections.insert(socket) }
        }
    }

    /// libcurl is about to close it.
    fileprivate nonisolated func closing(_ socket: Int32) {
        LoopActor.assumeIsolated {
            forget(socket)
            connections.remove(socket)
        }
    }

    fileprivate nonisolated static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlSockets {
        unsafe curlContext(pointer)
    }
}

func openCurlSocket(
    _ sockets: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    let socket = unsafe cloakroom_open_socket(address)
    unsafe CurlSockets.at(sockets).opened(socket)
    return socket
}

func closeCurlSocket(_ sockets: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    unsafe CurlSockets.at(sockets).closing(socket)
    return cloakroom_close_socket(socket)
}

/// libcurl's one timer on the loop.
///
/// libcurl puts it off with nearly every request that ends. So it is not taken down for a later one: when it goes off too
/// early, it is set again for what is left.
@LoopActor
final class CurlTimer {
    private let act: @LoopActor () -> Void
    /// When libcurl wants to be called, in nanoseconds; `nil` for never.
    private var deadline: UInt64?
    private var alarm: (timer: TimerID, deadline: UInt64)?

    init(act: @escaping @LoopActor () -> Void) { self.act = act }

    /// - Parameter milliseconds: from now; `nil` for never.
    func set(_ milliseconds: Int?) {
        guard let milliseconds else {
            deadline = nil
            return
        }
        let deadline = Monotonic.now &+ UInt64(milliseconds) &* 1_000_000
        self.deadline = deadline
        if let alarm {
            guard deadline < alarm.deadline else { return }
            EventPoller.shared.cancel(alarm.timer)
        }
        arm(for: deadline, in: .milliseconds(milliseconds))
    }

    /// After this, nothing is called any more.
    func stop() {
        if let alarm { EventPoller.shared.cancel(alarm.timer) }
        alarm = nil
        deadline = nil
    }

    private func arm(for deadline: UInt64, in delay: Duration) {
        alarm = (EventPoller.shared.schedule(after: delay) { [weak self] in self?.goOff() }, deadline)
    }

    private func goOff() {
        alarm = nil
        guard let deadline else { return }
        let now = Monotonic.now
        guard now >= deadline else { return arm(for: deadline, in: .nanoseconds(Int64(deadline - now))) }
        self.deadline = nil
        act()
    }
}
