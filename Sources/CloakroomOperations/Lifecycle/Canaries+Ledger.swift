package import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What lies in the bucket between two days; times are in seconds since 1970.
extension Canaries {
    private static let maximumCanaries = 10_000

    package var ledger: JSON {
        [
            "version": .number(1), "daySeconds": .number(clock.day), "lastExpiry": .time(lastExpiry),
            "lastSurvival": .time(lastSurvival),
            "canaries": .array(
                canaries.map { canary in
                    [
                        "role": .string(canary.role.rawValue), "day": .time(canary.day),
                        "written": .time(canary.written), "renewed": .time(canary.renewed),
                        "former": .bool(canary.isFormer),
                    ]
                }),
        ]
    }

    /// Takes over what was.
    ///
    /// - Parameter isFormer: whether it is the ledger at the former prefix; else each canary says where it is.
    /// - Returns: `false` for what ``ledger`` does not give, or for days of another length.
    package mutating func read(_ ledger: JSON, isFormer: Bool = false) -> Bool {
        guard let object = ledger.object, object["version"]?.integer == 1, object["daySeconds"]?.number == clock.day,
            let list = object["canaries"]?.array, list.count <= Self.maximumCanaries
        else { return false }
        var canaries: [Canary] = []
        for entry in list {
            guard let object = entry.object, let role = object["role"]?.string.flatMap({ Role(rawValue: $0) }),
                let day = object["day"]?.time, let written = object["written"]?.time
            else { return false }
            canaries.append(
                Canary(
                    role: role, day: day, written: written, renewed: object["renewed"]?.time,
                    isFormer: isFormer || object["former"]?.bool == true))
        }
        self.canaries = canaries
        lastExpiry = object["lastExpiry"]?.time
        lastSurvival = object["lastSurvival"]?.time
        return true
    }
}
