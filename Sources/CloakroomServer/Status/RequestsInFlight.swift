import CloakroomLoop

/// How many requests of each route have no response yet.
///
/// The counters are this process's own: what one has begun that was killed is no longer under way. They take fewer
/// instructions than an array, whose every change is checked for another at the same time.
struct RequestsInFlight {
    private let counters: MappedCounters

    init() throws(SystemError) { counters = try .anonymous(count: RouteLabel.allCases.count) }

    func begin(_ route: RouteLabel) { counters.add(1, at: route.index) }
    func end(_ route: RouteLabel) { counters.add(.max, at: route.index) }

    subscript(route: RouteLabel) -> Int { Int(truncatingIfNeeded: counters[route.index]) }
}
