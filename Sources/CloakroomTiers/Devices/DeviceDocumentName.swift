/// The name of a document that a device shares with the user's others.
enum DeviceDocumentName: Sendable, Hashable {
    /// What the device names of photos; of two that name the same photo the higher sequence counts.
    case snapshot(DeviceID, sequence: Int64)
    /// What the device is going to delete.
    case intent(DeviceID, String)
    /// That the user has given the device up.
    case dismissed(DeviceID)
    /// It says nothing: the device wrote it to learn the time of a store that tells it with what is written.
    case clock(DeviceID)

    /// Digits, with zeros in front: the order of the names is the order of the sequences, so that a listing of several
    /// pages cannot miss a document that replaces earlier ones meanwhile.
    private static let digits = 15
    static let maximumSequence: Int64 = 999_999_999_999_999

    /// - Returns: `nil` for all names that are not a device's; they are ignored.
    init?(_ name: String) {
        guard name.utf8.count <= 100, name.hasSuffix(".json") else { return nil }
        let parts = name.dropLast(5).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 2, let device = DeviceID(rawValue: String(parts[1])) else { return nil }
        switch (parts[0], parts.count) {
        case ("snapshot", 3):
            guard parts[2].utf8.count == Self.digits, parts[2].utf8.allSatisfy({ (48...57).contains($0) }),
                let sequence = Int64(parts[2])
            else { return nil }
            self = .snapshot(device, sequence: sequence)
        case ("intent", 3):
            guard DeviceID(rawValue: String(parts[2])) != nil else { return nil }
            self = .intent(device, String(parts[2]))
        case ("dismissed", 2): self = .dismissed(device)
        case ("clock", 2): self = .clock(device)
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .snapshot(let device, let sequence):
            let number = String(sequence)
            return
                "snapshot-\(device.rawValue)-\(String(repeating: "0", count: Self.digits - number.count))\(number).json"
        case .intent(let device, let random): return "intent-\(device.rawValue)-\(random).json"
        case .dismissed(let device): return "dismissed-\(device.rawValue).json"
        case .clock(let device): return "clock-\(device.rawValue).json"
        }
    }
}
