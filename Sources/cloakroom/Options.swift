import CloakroomCLinux
import Synchronization

/// The options and operands of one command, as getopt_long(3) reads them: `--name value` or `--name=value`, in any
/// place; `--` ends the options; `-h` is `--help`.
struct Options {
    enum ParseError: Error, CustomStringConvertible {
        case unknown(String)
        case valueMissing(String)

        var description: String {
            switch self {
            case .unknown(let word): "there is no option \(word)"
            case .valueMissing(let word): "\(word) takes a value"
            }
        }
    }

    /// The command's name.
    let command: String
    private(set) var values: [String: String] = [:]
    /// All values of each, in their order.
    private(set) var lists: [String: [String]] = [:]
    /// Those without a value that were given.
    private(set) var flags: Set<String> = []
    private(set) var operands: [String] = []
    private(set) var wantsHelp = false

    private static let help = Int32(UInt8(ascii: "h"))
    private static let unknown = Int32(UInt8(ascii: "?"))
    private static let valueMissing = Int32(UInt8(ascii: ":"))
    /// Beyond every character, so that no short option is meant.
    private static let firstNumber: Int32 = 256

    /// Of two equal options the last counts; `--help` is always there.
    init(_ arguments: [String], of syntax: CommandSyntax) throws(ParseError) {
        command = syntax.name
        let valued = syntax.values.count
        let names = syntax.values.keys.sorted() + syntax.flags.sorted()
        var words: [UnsafeMutablePointer<CChar>?] = (["cloakroom"] + arguments).map { strdup($0) } + [nil]
        let spellings = (names + ["help"]).map { strdup($0) }
        defer {
            words.forEach { free($0) }
            spellings.forEach { free($0) }
        }
        var table = spellings.indices.map { index in
            index < names.count
                ? option(
                    name: spellings[index], has_arg: index < valued ? 1 : 0, flag: nil,
                    val: Self.firstNumber + Int32(index))
                : option(name: spellings[index], has_arg: 0, flag: nil, val: Self.help)
        }
        table.append(option())
        try Self.turn.withLock { _ throws(ParseError) in try read(&words, table, names, valued: valued) }
    }

    /// getopt_long(3) keeps its place in globals: in tests several lines are read at once.
    private static let turn = Mutex(())

    /// - Parameters:
    ///   - names: first of those with a value, as many as `valued` says, then of the others.
    ///   - table: of the same, and of `--help`.
    private mutating func read(
        _ words: inout [UnsafeMutablePointer<CChar>?], _ table: [option], _ names: [String], valued: Int
    ) throws(ParseError) {
        let count = Int32(words.count - 1)
        cloakroom_options_begin()
        while true {
            let number = cloakroom_options_next(count, &words, table)
            let word = words[max(1, min(Int(cloakroom_options_index()), Int(count)) - 1)].map { String(cString: $0) }
            switch number {
            case -1:
                operands = words[Int(cloakroom_options_index())..<Int(count)].map {
                    $0.map { String(cString: $0) } ?? ""
                }
                return
            case Self.help: wantsHelp = true
            case Self.unknown: throw .unknown(word ?? "")
            case Self.valueMissing: throw .valueMissing(word ?? "")
            default:
                let index = Int(number - Self.firstNumber)
                if index < valued {
                    let value = String(cString: cloakroom_option_value())
                    values[names[index]] = value
                    lists[names[index], default: []].append(value)
                } else {
                    self.flags.insert(names[index])
                }
            }
        }
    }
}
