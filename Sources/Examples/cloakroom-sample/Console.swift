import Foundation

/// Lines to standard output and standard error.
enum Console {
    @discardableResult
    static func print(_ text: String) -> Int32 {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
        return 0
    }

    static func printError(_ text: String) {
        FileHandle.standardError.write(Data("cloakroom-sample: \(text)\n".utf8))
    }
}
