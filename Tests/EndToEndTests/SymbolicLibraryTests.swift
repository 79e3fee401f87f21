import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 36: a libfcgi that is bound symbolically, as some distributions link theirs.
    @Suite struct SymbolicLibrary {
        /// A copy of the worker's libfcgi that looks its own functions up in itself first, as with `-Bsymbolic`: one of
        /// the spare entries of its dynamic section becomes `DT_SYMBOLIC` (System V ABI, "Dynamic Section"; ELF64).
        private static func makeLibrary(in folder: String) throws {
            let listing = try RunningProgram("ldd", [try Programs.worker], output: "\(folder)/libraries")
            _ = try listing.waitForEnd()
            let line = try #require(listing.text.firstMatch(of: /(libfcgi\.so[.0-9]*) => ([^ ]+)/))
            let name = line.output.1
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: String(line.output.2))))
            func number(_ offset: Int, _ count: Int) -> Int {
                bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2))
            let dynamic = try #require((0..<count).map { headers + $0 * size }.first { number($0, 4) == 2 })
            let start = number(dynamic + 8, 8)
            let ends = stride(from: start, to: start + number(dynamic + 32, 8), by: 16).filter { number($0, 8) == 0 }
            // Another end has to follow.
            try #require(ends.count > 1)
            bytes[ends[0]] = 16
            try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }

        @Test func `serve says in one line that it cannot use such a libfcgi`() throws {
            let folder = try RunFolder.make("symbolic")
            try Self.makeLibrary(in: folder)
            let file = "\(folder)/settings.json5"
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: file)
            let environment = TestSettings.environment.merging(["LD_LIBRARY_PATH": folder]) { $1 }
            let address = "unix:\(folder)/worker.sock"
            let serve = try Command(["serve", "--listen", address, file], environment: environment)
            #expect(serve.status == 1)
            let line = serve.text.split(separator: "\n").last ?? ""
            #expect(line.hasPrefix("cloakroom: cannot serve on \(address): "), "\(serve.text)")
            #expect(line.contains("libfcgi") && line.contains("-Bsymbolic"), "\(serve.text)")
        }
    }
}
