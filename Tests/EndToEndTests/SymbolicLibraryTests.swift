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

        @Test func `serves with such a libfcgi`() throws {
            let folder = try RunFolder.make("symbolic-library")
            try Self.makeLibrary(in: folder)
            var options = Stack.Options(nginx: true)
            options.environment["LD_LIBRARY_PATH"] = folder
            try Stack.run("symbolic", options) { stack in
                let descriptors = "/proc/\(try #require(stack.server).pid)/fd"
                let files = try FileManager.default.contentsOfDirectory(atPath: descriptors).compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")
                }
                #expect(files.contains("/memfd:request (deleted)"), "it does not read requests from a file")
                for _ in 0..<20 {
                    #expect(try stack.ask(.health).status == 200)
                    #expect(
                        try stack.askNginx(.renew("no.such.token", ["a.bin"])).told
                            == #"401 {"error":"Invalid auth token","code":"unauthorized"}"#)
                }
            }
        }
    }
}
