import Foundation

#if canImport(CloakroomCLinux)
    import CloakroomCLinux
#endif

/// The options and operands of one command, as getopt_long(3) reads them: `--name value` or `--name=value`, in any
/// place; `--` ends the options.
struct Options {
    private(set) var values: [String: String] = [:]
    private(set) var flags: Set<String> = []
    private(set) var operands: [String] = []
    private(set) var wantsHelp = false

    /// Beyond every character, so that no short option is meant.
    private static let firstNumber: Int32 = 256

    /// - Parameters:
    ///   - names: each takes a value; the last of two equal ones counts.
    ///   - flags: without a value; `--help` is always there.
    /// - Throws: ``UsageError``.
    init(_ arguments: [String], names: [String], flags: [String] = []) throws {
        let all = names + flags + ["help"]
        var words: [UnsafeMutablePointer<CChar>?] = (["cloakroom-sample"] + arguments).map { strdup($0) } + [nil]
        let spellings = all.map { strdup($0) }
        defer { (words + spellings).forEach { free($0) } }
        var table = spellings.indices.map {
            option(name: spellings[$0], has_arg: $0 < names.count ? 1 : 0, flag: nil, val: Self.firstNumber + Int32($0))
        }
        table.append(option())
        let count = Int32(words.count - 1)
        cloakroom_options_begin()
        while true {
            let number = cloakroom_options_next(count, &words, table)
            let index = Int(cloakroom_options_index())
            if number == -1 {
                operands = words[index..<Int(count)].compactMap { $0.map { String(cString: $0) } }
                return
            }
            guard number >= Self.firstNumber else {
                let word = words[max(1, index - 1)].map { String(cString: $0) } ?? ""
                throw UsageError("there is no option \(word), or its value is missing")
            }
            let name = all[Int(number - Self.firstNumber)]
            if names.contains(name) {
                values[name] = String(cString: cloakroom_option_value())
            } else if name == "help" {
                wantsHelp = true
            } else {
                self.flags.insert(name)
            }
        }
    }
}

/// The command line was not understood.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

#if !canImport(CloakroomCLinux)
    // What CLinux gives elsewhere, where these are not imported.
    private func cloakroom_options_begin() { (optind, opterr, optreset) = (1, 0, 1) }
    private func cloakroom_options_next(
        _ count: Int32, _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ table: [option]
    ) -> Int32 { getopt_long(count, words, ":", table, nil) }
    private func cloakroom_options_index() -> Int32 { optind }
    private func cloakroom_option_value() -> UnsafeMutablePointer<CChar> { optarg }
#endif
