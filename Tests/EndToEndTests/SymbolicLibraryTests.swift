import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 36: a libfcgi that is bound symbolically, as some distributions link theirs.
    @Suite struct SymbolicLibrary {
        /// Puts one into a folder, under the name that the worker loads: deploy/test builds it from the distribution's
        /// source package.
        private static func install(in folder: String) throws {
            let listing = try RunningProgram("ldd", [try Programs.worker], output: "\(folder)/libraries")
            _ = try listing.waitForEnd()
            let line = try #require(listing.text.firstMatch(of: /(libfcgi\.so[.0-9]*) => ([^ ]+)/))
            let installed = String(line.output.2)
            let library = try Programs.symbolicLibrary.map(read) ?? symbolicCopy(of: read(installed))
            try Data(library).write(to: URL(fileURLWithPath: "\(folder)/\(line.output.1)"))
        }

        private static func read(_ path: String) throws -> [UInt8] {
            Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        }

        /// For where no source package is to be had: a library that looks its own functions up in itself first, as with
        /// `-Bsymbolic`. One of the spare entries of its dynamic section becomes `DT_SYMBOLIC` (System V ABI, "Dynamic
        /// Section"; ELF64).
        private static func symbolicCopy(of library: [UInt8]) throws -> [UInt8] {
            func number(_ offset: Int, _ count: Int) -> Int {
                library[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2))
            let dynamic = try #require((0..<count).map { headers + $0 * size }.first { number($0, 4) == 2 })
            let start = number(dynamic + 8, 8)
            let ends = stride(from: start, to: start + number(dynamic + 32, 8), by: 16).filter { number($0, 8) == 0 }
            // Another end has to follow.
            try #require(ends.count > 1)
            var copy = library
            copy[ends[0]] = 16
            return copy
        }

        @Test func `serves with such a libfcgi`() throws {
            let folder = try RunFolder.make("symbolic-library")
            try Self.install(in: folder)
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
