import Foundation

/// Where the user's photos were by the last credentials, for a start without a network.
struct RecordedLayout {
    private struct Record: Codable {
        let userID: String
        let prefixes: [String: String]
    }

    private let file: URL
    private let userID: String

    /// - Parameter folder: of this user alone.
    init(in folder: URL, userID: String) {
        file = folder.appendingPathComponent("layout.json")
        self.userID = userID
    }

    /// - Returns: `nil` when none was recorded, or when it cannot be read.
    func read() -> PhotoLayout? {
        guard let bytes = try? Data(contentsOf: file),
            let record = try? JSONDecoder().decode(Record.self, from: bytes), record.userID == userID
        else { return nil }
        return try? PhotoLayout(userID: userID, prefixes: record.prefixes)
    }

    /// What cannot be recorded is requested again.
    func record(_ vended: VendedCredentials) {
        let record = Record(userID: userID, prefixes: vended.prefixes ?? [:])
        try? JSONEncoder().encode(record).write(to: file, options: .atomic)
    }
}
