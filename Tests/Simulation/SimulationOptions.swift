import Foundation

/// `simulation --seed N --days D --devices D --folder PATH [--without NAME,…] [--trace] [--plant NAME]`, or
/// `simulation --plants` and `simulation --faults` for the names.
struct SimulationOptions: Sendable {
    var seed: UInt64 = 1
    var days = 3
    var devices = 10
    var folder = ""
    var isTraced = false
    var plant: Plant?
    /// Faults, and devices by their names.
    var leftOut: Set<String> = []

    init(_ arguments: [String]) {
        var rest = arguments.dropFirst()
        while let option = rest.popFirst() {
            switch option {
            case "--trace": isTraced = true
            case "--seed": seed = Self.number(rest.popFirst(), of: option)
            case "--days": days = Int(Self.number(rest.popFirst(), of: option))
            case "--devices": devices = Int(Self.number(rest.popFirst(), of: option))
            case "--folder": folder = rest.popFirst() ?? ""
            case "--plants":
                for plant in Plant.allCases { print("\(plant.rawValue): \(plant.meaning)") }
                exit(0)
            case "--faults":
                print(Fault.allCases.map(\.rawValue).joined(separator: "\n"))
                exit(0)
            case "--states":
                print(State.allCases.map(\.rawValue).joined(separator: "\n"))
                exit(0)
            case "--without": leftOut = Self.names(rest.popFirst() ?? "")
            case "--plant":
                plant = rest.popFirst().flatMap(Plant.init)
                if plant == nil {
                    Self.fail("--plant wants one of \(Plant.allCases.map(\.rawValue).joined(separator: ", "))")
                }
            default: Self.fail("unknown option \(option)")
            }
        }
        if folder.isEmpty { Self.fail("--folder is missing: an empty one, on a tmpfs") }
        // Else the order of sets and dictionaries is that of their addresses, and a seed does something else each time.
        if ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] != "1" {
            Self.fail("SWIFT_DETERMINISTIC_HASHING is not 1: deploy/simulation sets it")
        }
    }

    private static func names(_ text: String) -> Set<String> {
        var names = text.split(separator: ",").map(String.init)
        if let all = names.firstIndex(of: "faults") {
            names.replaceSubrange(all...all, with: Fault.allCases.map(\.rawValue))
        }
        for name in names where Fault(rawValue: name) == nil && name.wholeMatch(of: /d_[0-9]+/) == nil {
            fail(
                "--without wants devices, such as d_0, faults for all of these, and of \(Fault.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        return Set(names)
    }

    private static func number(_ text: String?, of option: String) -> UInt64 {
        guard let number = text.flatMap({ UInt64($0) }) else { fail("\(option) wants a number") }
        return number
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("simulation: \(message)\n".utf8))
        exit(2)
    }
}
