import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PrivateFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `reads to the end of the file, whatever call was interrupted before`() throws {
        let place = try PrivateFolder(making: folder.url.appendingPathComponent("private").path)
        try place.newFile("a").append([1, 2, 3])
        guard let file = try place.file("a") else {
            Issue.record("the file is not there")
            return
        }
        errno = EINTR
        let bytes = try file.read(at: 1, count: 10)
        #expect(bytes == [2, 3])
    }
}
