import CloakroomLoop
import Foundation

/// Differences between a model and a real server that are the server's own affair, each with its reason.
struct ExplainedDifferences: Decodable {
    /// Of the operation and of both responses: regular expressions that fit the whole text; what a group of one has found
    /// may stand in the next.
    struct Entry: Decodable {
        let stores: [String]
        let operation: String
        let model: String
        let real: String
        let reason: String
        /// Where it is written, or where it was seen.
        let source: String
        /// Whether model and server keep something else from then on.
        let diverges: Bool?
    }

    let differences: [Entry]

    static func read(_ path: String) throws -> ExplainedDifferences {
        try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
}

/// What a model and a real server say to the same operations, drawn by a seed.
final class Comparison {
    private struct Explanation {
        let reason: String
        let diverges: Bool
        private let pattern: Regex<AnyRegexOutput>

        init(_ entry: ExplainedDifferences.Entry) throws {
            reason = entry.reason
            diverges = entry.diverges ?? false
            pattern = try Regex([entry.operation, entry.model, entry.real].map { "(?:\($0))" }.joined(separator: "\n"))
        }

        func fits(_ operation: String, _ model: String, _ real: String) -> Bool {
            (try? pattern.wholeMatch(in: "\(operation)\n\(model)\n\(real)")) ?? nil != nil
        }
    }

    let options: ComparisonOptions
    private let explanations: [Explanation]
    private var explained: [String: Int] = [:]
    /// By kind of operation and of responses: how many, and the first.
    private var unexplained: [String: (count: Int, first: String)] = [:]
    private(set) var operations = 0
    /// How often each kind of operation was compared.
    private var kinds: [String: Int] = [:]
    /// Compared with nothing, since a key ended while the server was at it.
    var undecided = 0

    init(_ options: ComparisonOptions) throws {
        self.options = options
        explanations = try ExplainedDifferences.read(options.explained).differences
            .filter { $0.stores.contains(options.store.rawValue) }.map(Explanation.init)
    }

    /// Ends the process.
    static func run(_ options: ComparisonOptions) -> Never {
        Plant.current = options.plant
        VirtualTime.begin(seed: options.seed)
        signal(SIGPIPE, SIG_IGN)
        let status = LoopActor.run {
            do {
                let comparison = try Comparison(options)
                switch options.store {
                case .redis:
                    var redis = RedisComparison(comparison)
                    return try await redis.run()
                case .seaweedfs, .ceph:
                    var store = try StoreComparison(comparison)
                    return try store.run()
                }
            } catch { ComparisonOptions.fail("\(options.explained): \(error)") }
        }
        fflush(nil)
        _exit(status)
    }

    func begin() { operations += 1 }

    /// - Parameters:
    ///   - kind: what it is counted under.
    ///   - operation: what was sent, for people.
    /// - Returns: whether model and server still keep the same.
    func note(_ kind: String, _ operation: String, model: String, real: String) -> Bool {
        kinds[kind, default: 0] += 1
        guard model != real else { return true }
        if let explanation = explanations.first(where: { $0.fits(operation, model, real) }) {
            explained[explanation.reason, default: 0] += 1
            return !explanation.diverges
        }
        let first = "operation \(operations), \(operation)\n    model: \(model)\n    real:  \(real)"
        unexplained["\(kind), \(Self.sort(model)) and \(Self.sort(real))", default: (0, first)].count += 1
        return false
    }

    /// Of a response, that others like it have, too: the first word, and the code of an error.
    private static func sort(_ text: String) -> String {
        let words = text.split(separator: " ")
        return words.prefix((words.first.flatMap { Int($0) } ?? 0) >= 300 ? 2 : 1).joined(separator: " ")
    }

    /// Tells what was found, for people and, in one line, as JSON.
    ///
    /// - Returns: the exit status.
    func finish() throws -> Int32 {
        for (kind, found) in unexplained.sorted(by: { $0.key < $1.key }) {
            print("unexplained: \(kind): \(found.count), first with --seed \(options.seed): \(found.first)")
        }
        for (reason, count) in explained.sorted(by: { $0.key < $1.key }) { print("explained: \(count): \(reason)") }
        print("compared: " + kinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        let count = unexplained.values.reduce(0) { $0 + $1.count }
        struct Summary: Encodable {
            let operations: Int
            let seed: UInt64
            let compared: Int
            let undecided: Int
            let unexplained: Int
            let explained: [String: Int]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let summary = Summary(
            operations: operations, seed: options.seed, compared: kinds.values.reduce(0, +), undecided: undecided,
            unexplained: count, explained: explained)
        print("summary \(String(decoding: try encoder.encode(summary), as: UTF8.self))")
        return count == 0 ? 0 : 1
    }
}
