import Foundation

/// `simulation --seed N --days D --devices D --folder PATH [--trace] [--plant NAME]`, or `simulation --plants` for their names.
struct SimulationOptions: Sendable {
    var seed: UInt64 = 1
    var days = 3
    var devices = 10
    var folder = ""
    var isTraced = false
    var plant: Plant?

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
                print(Plant.allCases.map(\.rawValue).joined(separator: "\n"))
                exit(0)
            case "--plant":
                plant = rest.popFirst().flatMap(Plant.init)
                if plant == nil {
                    Self.fail("--plant wants one of \(Plant.allCases.map(\.rawValue).joined(separator: ", "))")
                }
            default: Self.fail("unknown option \(option)")
            }
        }
        if folder.isEmpty { Self.fail("--folder is missing: an empty one, on a tmpfs") }
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
