import CloakroomCCurl
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
        if !interest.contains(.write), watched.contains(.writable) { update() }
        act(events)
    }
}
