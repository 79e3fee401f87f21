import CloakroomFastCGI

/// Where several workers listen, as `--listen` and `--workers` say it: `%d` in the address is the number of each, from 1.
struct ListenPattern: Sendable {
    enum PatternError: Error, CustomStringConvertible {
        case notACount
        case withoutNumber
        case notAnAddress(String)

        var description: String {
            switch self {
            case .notACount: "--workers takes a number from 1 to 256"
            case .withoutNumber: "with several workers, --listen holds %d for the number"
            case .notAnAddress(let text):
                "\(text) is neither unix:PATH (at most \(ListenAddress.maximumPathBytes) bytes) nor ADDRESS:PORT"
            }
        }
    }

    /// As it was given.
    let text: String
    /// One for each worker.
    let addresses: [ListenAddress]

    private static let number = "%d"

    /// - Parameter workers: as the option gives it.
    static func count(_ workers: String) throws(PatternError) -> Int {
        guard let count = Int(workers), (1...256).contains(count) else { throw .notACount }
        return count
    }

    init(_ text: String, workers count: Int = 1) throws(PatternError) {
        guard count == 1 || text.contains(Self.number) else { throw .withoutNumber }
        var addresses: [ListenAddress] = []
        for worker in 1...count {
            let text = text.replacing(Self.number, with: String(worker))
            guard let address = ListenAddress(text) else { throw .notAnAddress(text) }
            addresses.append(address)
        }
        (self.text, self.addresses) = (text, addresses)
    }

    /// Of all together: a file may bear it.
    var name: String { text.replacing(Self.number, with: "N") }
}
