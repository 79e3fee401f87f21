import CloakroomKit
import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct MessageFolderTests {
    private let place: SealingFolder

    init() throws { place = try SealingFolder() }

    @Test func `is made for the user alone, and shut to others when it is there`() throws {
        try FileManager.default.createDirectory(
            atPath: place.path("messages"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let folder = MessageFolder(place.url.appendingPathComponent("messages"))
        for _ in 0..<2 {
            try folder.make()
            for name in ["messages", "messages/attachments", "messages/keys"] {
                #expect(try place.mode(name) == 0o700, "\(name)")
            }
        }
        #expect(folder.database.path == place.path("messages/messages.sqlite"))
    }

    @Test func `a link in its place is refused`() throws {
        try FileManager.default.createDirectory(atPath: place.path("elsewhere"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: place.path("messages"), withDestinationPath: place.path("elsewhere"))
        let error = #expect(throws: CloakroomError.self) {
            try MessageFolder(place.url.appendingPathComponent("messages")).make()
        }
        #expect(error?.code == .storeFailed)
        #expect(try place.names(in: "elsewhere") == [])
    }
}
