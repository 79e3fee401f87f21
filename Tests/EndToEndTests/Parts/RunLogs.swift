import Foundation
import Testing

/// All that was logged in the whole run.
enum RunLogs {
    /// Each line of a worker is one JSON object, and no secret of the run is anywhere.
    static func check() throws {
        let workers = RunFolder.files(endingIn: "worker.log") + RunFolder.files(endingIn: "audit.log")
        for file in workers { #expect(strangeLines(in: file) == [], "\(file)") }
        let all = workers + ["access.log", "error.log", "redis.log"].flatMap({ RunFolder.files(endingIn: $0) })
        #expect(try Secrets.found(in: all) == [])
    }

    /// Lines that are not one JSON object of printable characters, but for those with which a command gives up.
    static func strangeLines(in file: String) -> [String] {
        RunFolder.text(of: file).components(separatedBy: "\n").dropLast().filter { line in
            let object = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
            let isPrintable = line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
            return !isPrintable || (object == nil && !line.hasPrefix("cloakroom: cannot "))
        }
    }
}
