package import CloakroomLoop

/// How many requests of each route have no response yet.
@LoopActor
package final class RequestsInFlight {
    package init() {}

    private var counts = [Int](repeating: 0, count: RouteLabel.allCases.count)

    func begin(_ route: RouteLabel) { counts[route.index] += 1 }
    func end(_ route: RouteLabel) { counts[route.index] -= 1 }

    subscript(route: RouteLabel) -> Int { counts[route.index] }
}
