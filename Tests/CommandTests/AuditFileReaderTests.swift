import CloakroomOperations
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

struct AuditFileReaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(filePath: folder[name]))
        return folder[name]
    }

    /// What logrotate leaves from the second rotation on.
    @Test func `says of a compressed file how to read it, and finds no fault in it`() throws {
        let path = try file("audit.log.2.gz", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x0A, 0x7D, 0x0A])
        var verifier = AuditVerifier { _ in }
        let error = #expect(throws: AuditFileReader.AuditFileReadError.self) {
            try AuditFileReader(path: path).read(into: &verifier)
        }
        let text = try #require(error).description
        #expect(text.hasPrefix("\(path) is compressed with gzip"), "\(text)")
        #expect(text.hasSuffix("zcat -f OLDEST … NEWEST | cloakroom audit verify -"), "\(text)")
        #expect(verifier.faultCount == 0 && verifier.chains.isEmpty)
    }

    @Test func `reads standard input as it reads a file`() throws {
        let path = try file("lines", Array("{\"log\":1}\n{\"log\":2}\nhalf".utf8))
        let input = try #require(FileHandle(forReadingAtPath: path))
        var verifier = AuditVerifier { fault in #expect("\(fault)" == "standard input:3: the file ends within a line") }
        let reader = AuditFileReader(path: "-", standardInput: input.fileDescriptor)
        try withExtendedLifetime(input) { try reader.read(into: &verifier) }
        #expect(verifier.otherLines == 2 && verifier.faultCount == 1)
    }
}
