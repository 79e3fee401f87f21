import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomFastCGI

@Suite struct LibFCGIParserTests {
    /// Ubuntu's libfcgi is linked with `-Bsymbolic-functions`: none of its functions can be replaced.
    private static let sources: [LibFCGIParser.Source] = {
        let system = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        return system.contains("\nID=ubuntu\n") ? [.file] : [.function, .file]
    }()

    @Test(arguments: Self.sources)
    @LoopActor func `libfcgi reads what it is given`(source: LibFCGIParser.Source) throws {
        _ = try SelfTest.parser([source])
    }

    @Test(arguments: Self.sources)
    @LoopActor func `goes on after a request that it would not have`(source: LibFCGIParser.Source) {
        let parser = LibFCGIParser(source)
        for _ in 0..<3 {
            let none = parser.parse(FastCGIRequest([("A", "b")]).bytes)
            #expect(none == nil)
            let next = parser.parse(FastCGIRequest(target: "/next").bytes)
            #expect(next?.path == "/next")
        }
    }

    /// Longer and shorter ones in turn: of a file only the last one's bytes may be read.
    @Test(arguments: Self.sources)
    @LoopActor func `reads nothing of an earlier request`(source: LibFCGIParser.Source) {
        let parser = LibFCGIParser(source)
        for count in [0, 70_000, 3, 9_000, 300_000, 1] {
            let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
            let request = parser.parse(FastCGIRequest(target: "/\(count)", body: body).bytes)
            #expect(request?.path == "/\(count)")
            #expect(request?.body == body)
        }
    }

    @Test @LoopActor func `says that no source works`() {
        #expect(throws: FastCGIError.unusableLibrary) { _ = try SelfTest.parser([]) }
    }
}
