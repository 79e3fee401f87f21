import CloakroomKit
import Foundation
import CloakroomScriptedS3
import Testing

extension EndToEnd {
    /// Images of chats and profiles, uploaded where the worker says.
    @Suite struct KitUploads {
        private func place(_ kit: Kit, byteCount: Int64) async throws -> UploadTarget {
            let target = try await kit.client.requestUpload(contentType: "image/jpeg", byteCount: byteCount)
            Secrets.keep(Presigned.signature(target.uploadURL.absoluteString))
            return target
        }

        @Test func `an image is there with its type, and a page is refused by its own code`() async throws {
            try await Stack.run("kit-uploads", .init(nginx: true, s3: true)) { stack in
                let kit = try Kit(stack)
                let uploads = AssetUploader(uploader: kit.client)
                let image = try await uploads.uploadChatImage(
                    UploadContent(Data("encrypted".utf8), contentType: "application/octet-stream"))
                let stored = try EndToEnd.s3().head(image.objectKey)
                #expect(stored.status == 200 && stored.fields["content-length"] == "9")
                #expect(stored.fields["content-type"] == "application/octet-stream")
                #expect(image.link.hasSuffix("/\(image.objectKey)"))

                let file = URL(fileURLWithPath: "\(stack.folder)/avatar.jpg")
                try Data("an avatar".utf8).write(to: file)
                let avatar = try await uploads.uploadProfileAvatar(
                    UploadContent(contentsOf: file, contentType: "image/jpeg"), conversationID: "c", inboxID: "i")
                let key = try #require(avatar.key(in: kit.baseURLs))
                #expect(try EndToEnd.s3().head(key).fields["content-type"] == "image/jpeg")

                let refused = try await cloakroomError {
                    _ = try await uploads.uploadChatImage(UploadContent(Data("<p>".utf8), contentType: "text/html"))
                }
                #expect(refused?.code == .contentTypeNotAllowed && refused?.status == 400)
                // What the operator finds it by in the worker's log.
                let id = try #require(refused?.requestID)
                // The log follows the answer; it has the first half.
                try wait(for: "the request's id in the log") {
                    stack.logLines("request").contains { $0["request"] as? String == String(id.prefix(16)) }
                }
            }
        }

        @Test func `a second upload to a place is done, and changes nothing`() async throws {
            // SeaweedFS does not mind the condition in the URL's query.
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            try await Stack.run("kit-twice", upstream.options(nginx: true)) { stack in
                let kit = try Kit(stack, s3: upstream.s3.url)
                let target = try await place(kit, byteCount: 5)
                try await kit.client.upload(.bytes(Data("first".utf8)), to: target)
                let tag = upstream.s3.truth(target.objectKey).entityTag
                try await kit.client.upload(.bytes(Data("other".utf8)), to: target)
                #expect(upstream.s3.truth(target.objectKey).entityTag == tag)
                #expect(upstream.s3.requests.filter { $0.operation == .putObject }.map(\.status) == [200, 412])
            }
        }

        @Test func `a URL that has ended is told as such by S3, and by the server's clock`() async throws {
            try await Stack.run("kit-late", .init(nginx: true, s3: true) { $0["uploads.lifetimeSeconds"] = 1 }) {
                stack in
                let kit = try Kit(stack)
                let target = try await place(kit, byteCount: 5)
                let end = try #require(target.expiration)
                try wait(for: "the URL's end") { Date() > end.addingTimeInterval(1.1) }
                // This one has never heard the worker's time, so it is S3 that says so.
                let other = try Kit(stack)
                let told = try await cloakroomError {
                    try await other.client.upload(.bytes(Data("photo".utf8)), to: target)
                }
                #expect(told?.code == .uploadURLExpired && told?.status == 403, "\(String(describing: told))")
                let known = try await cloakroomError {
                    try await kit.client.upload(.bytes(Data("photo".utf8)), to: target)
                }
                #expect(known?.code == .uploadURLExpired && known?.status == nil)
                #expect(try EndToEnd.s3().lastModified(target.objectKey) == nil)
            }
        }
    }
}
