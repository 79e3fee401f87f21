import CloakroomHTTP
import CloakroomWire

/// Finds the route of a path.
struct RouteTable: Sendable {
    struct Match: Sendable, Equatable {
        let route: Route
        /// In the metrics.
        let label: RouteLabel
        /// What stands where the template has `{id}`, as it was sent; empty for a template without.
        var id: String
        /// The same for `{number}`.
        var number = ""

        init(route: Route, id: String = "") {
            self.route = route
            self.id = id
            label = RouteLabel(route)
        }
    }

    /// A template with an `{id}`: what stands before it, and behind it.
    private struct Template {
        let start: String
        let end: String
        /// Whether the end is `/{number}`.
        let hasNumber: Bool
        let match: Match
    }

    private static let number = "/{number}"

    private let exact: [String: Match]
    private let templates: [Template]

    /// - Parameter hasCompanion: whether the routes of Companion's wire are among them.
    init(hasCompanion: Bool = true) {
        var exact: [String: Match] = [:]
        var templates: [Template] = []
        for route in Route.allCases where hasCompanion || !route.isCompanion {
            if let placeholder = route.rawValue.firstRange(of: "{id}") {
                let (start, end) = (
                    route.rawValue[..<placeholder.lowerBound], route.rawValue[placeholder.upperBound...]
                )
                templates.append(
                    Template(
                        start: String(start), end: String(end), hasNumber: end == Self.number,
                        match: Match(route: route)))
            } else {
                exact[route.rawValue] = Match(route: route)
            }
        }
        self.exact = exact
        self.templates = templates
    }

    /// - Parameter path: as it was sent, without the query.
    func match(_ path: String) -> Match? {
        if let match = exact[path] { return match }
        for template in templates {
            if template.hasNumber {
                guard let match = Self.numbered(template, path) else { continue }
                return match
            }
            let (start, end) = (template.start.utf8.count, template.end.utf8.count)
            guard path.utf8.count > start + end, path.hasPrefix(template.start), path.hasSuffix(template.end) else {
                continue
            }
            let id = path.utf8.dropFirst(start).dropLast(end)
            // One segment: `/` belongs to another template, or to none.
            guard !id.contains(UInt8(ascii: "/")) else { continue }
            var match = template.match
            match.id = String(Substring(id))
            return match
        }
        return nil
    }

    private static func numbered(_ template: Template, _ path: String) -> Match? {
        guard path.hasPrefix(template.start) else { return nil }
        let segments = path.utf8.dropFirst(template.start.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.count == 2, !segments[0].isEmpty, !segments[1].isEmpty else { return nil }
        var match = template.match
        match.id = String(Substring(segments[0]))
        match.number = String(Substring(segments[1]))
        return match
    }
}

/// Names for requests that nginx gave none: a counter that begins somewhere else in every process.
struct RequestIDs {
    private var last = UInt64.random(in: .min ... .max)

    mutating func next() -> RequestID {
        last &+= 1
        return RequestID(last)
    }
}
