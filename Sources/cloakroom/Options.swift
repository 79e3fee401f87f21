/// The options and operands of one command, by the conventions of getopt_long(3): `--name value` or `--name=value`,
/// in any place; `--` ends the options; `-h` is `--help`.
///
/// getopt_long itself is not in Swift's Glibc, keeps its place in globals, and writes its own messages.
struct Options {
    enum Failure: Error, CustomStringConvertible {
        case unknown(String)
        case valueMissing(String)

        var description: String {
            switch self {
            case .unknown(let name): "there is no option \(name)"
            case .valueMissing(let name): "--\(name) takes a value"
            }
        }
    }

    private(set) var values: [String: String] = [:]
    private(set) var operands: [String] = []
    private(set) var wantsHelp = false

    /// - Parameter names: the options with a value; `--help` is always there. The last of two equal ones counts.
    init(_ arguments: [String], names: Set<String>) throws(Failure) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                return
            }
            if word == "--help" || word == "-h" {
                wantsHelp = true
            } else if word.hasPrefix("-"), word != "-" {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = String(parts[0].dropFirst(2))
                guard word.hasPrefix("--"), names.contains(name) else { throw .unknown(String(parts[0])) }
                guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                    throw .valueMissing(name)
                }
                values[name] = value
            } else {
                operands.append(word)
            }
        }
    }
}
