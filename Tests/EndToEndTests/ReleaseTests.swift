import CloakroomKit
import Foundation
import Testing

extension EndToEnd {
    /// Releases of images of chats, on both stores.
    @Suite struct Releases {
        @Test func `a released image is gone from SeaweedFS, and no other word or user releases it`() throws {
            let s3 = try EndToEnd.s3()
            let options = Stack.Options(nginx: true, s3: true) { ReleasePlaces.change("delete", &$0) }
            try Stack.run("release", options) { stack in
                try ReleasePlaces.check(stack, status: { try s3.head($0).status }, goes: { _ in })
            }
        }

        /// It expires nothing within minutes: that is seen on Ceph.
        @Test func `a released image has the tag of the rule on SeaweedFS`() throws {
            let s3 = try EndToEnd.s3()
            let options = Stack.Options(nginx: true, s3: true) { ReleasePlaces.change("tag", &$0) }
            try Stack.run("release-tag", options) { stack in
                let image = try ReleasePlaces.upload(stack, as: "v_1")
                #expect(try ReleasePlaces.release(stack, [image], as: "v_1") == ["success"])
                let tags = try s3.content("\(image.key)?tagging=")
                #expect(tags.contains("<Key>cloakroom-released</Key><Value>true</Value>"), "\(tags)")
                try s3.delete(image.key)
                #expect(try ReleasePlaces.release(stack, [image], as: "v_1") == ["success"])
            }
        }

        @Test func `a released image is gone from Ceph, and no other word or user releases it`() throws {
            let ceph = try EndToEnd.ceph()
            try Stack.run("ceph-release", ceph.options(nginx: true) { ReleasePlaces.change("delete", &$0) }) { stack in
                try ReleasePlaces.check(stack, status: { try ceph.ask("GET", "/\($0)").status }, goes: { _ in })
            }
        }

        @Test func `on Ceph the rule for the tag deletes a released image, and leaves the others`() throws {
            let ceph = try EndToEnd.ceph()
            // In days of seconds: what is not released outlives the test.
            func change(_ settings: inout TestSettings) {
                ReleasePlaces.change("tag", &settings)
                settings["uploads.chatRetentionDays"] = 3000
            }
            let file = try ceph.settings(try RunFolder.make("ceph-release-rule")) { change(&$0) }
            let applied = try Command(
                ["lifecycle", "apply", "--yes", file], environment: ceph.environment, within: .seconds(60))
            defer { _ = try? ceph.ask("DELETE", "?lifecycle=") }
            #expect(applied.status == 0, "\(applied.text)")
            let verified = try Command(
                ["lifecycle", "verify", file], environment: ceph.environment, within: .seconds(60))
            #expect(verified.status == 0 && !verified.text.contains("error:"), "\(verified.text)")
            try Stack.run("ceph-release-tag", ceph.options(nginx: true) { change(&$0) }) { stack in
                try ReleasePlaces.check(stack, status: { try ceph.ask("GET", "/\($0)").status }) { image in
                    try wait(for: "the end of \(image.key)", within: .seconds(60)) {
                        try ceph.ask("GET", "/\(image.key)").status != 200
                    }
                }
            }
        }

        @Test func `the rules of an earlier prefix stay on Ceph until nothing is behind it`() throws {
            let ceph = try EndToEnd.ceph()
            let folder = try RunFolder.make("ceph-former-chats")
            defer { _ = try? ceph.ask("DELETE", "?lifecycle=") }
            func apply(_ prefix: String?, _ flags: String...) throws -> Command {
                let file = try ceph.settings(folder) { settings in
                    settings["uploads.keyPrefix"] = "release-assets/"
                    settings["lifecycle.prefixes"] = ["release-assets/"]
                    guard let prefix else { return }
                    settings["uploads.chatKeyPrefix"] = prefix
                    settings["uploads.chatRetentionDays"] = 3000
                    settings["release.keys"] = [["env": "TEST_TOKEN_SECRET"]]
                }
                return try Command(
                    ["lifecycle", "apply", "--yes", file] + flags, environment: ceph.environment, within: .seconds(60))
            }
            let rules = ["expire-after-3000-days-chats-1/", "expire-after-1-days-released-chats-1/"]
            #expect(try apply("chats-1/").status == 0)
            #expect(try ceph.ask("PUT", "/chats-1/a.bin", body: "an image").status == 200)
            for prefix in ["chats-2/", nil] {
                let applied = try apply(prefix)
                #expect(applied.status == 0, "\(applied.text)")
                #expect(applied.text.contains("the rules of chats-1/, an earlier prefix of images of chats, stay"))
                let there = try ceph.ask("GET", "?lifecycle=").text
                #expect(rules.allSatisfy { there.contains("<ID>\($0)</ID>") }, "\(there)")
                let refused = try apply(prefix, "--remove-former-chats")
                #expect(refused.status == 1, "\(refused.text)")
                #expect(refused.text.contains("1 objects would no longer expire"), "\(refused.text)")
            }
            #expect(try ceph.ask("DELETE", "/chats-1/a.bin").status == 204)
            let removed = try apply(nil, "--remove-former-chats")
            #expect(removed.status == 0, "\(removed.text)")
            let there = try ceph.ask("GET", "?lifecycle=").text
            #expect(!there.contains("chats-") && there.contains("release-assets/"), "\(there)")
        }

        @Test(arguments: [("delete", "s3:DeleteObject"), ("tag", "s3:PutObjectTagging")])
        func `the doctor tells that the worker has all actions for images, and leaves nothing behind`(
            mode: String, action: String
        ) throws {
            let found = "it can upload images of chats under chats/, look for them, and release them by \(action)"
            let s3 = try EndToEnd.s3()
            let options = Stack.Options(s3: true) { ReleasePlaces.change(mode, &$0) }
            try Stack.run("release-doctor", options) { stack in
                let visit = try Command(
                    ["doctor", "--settings", stack.settingsFile, "--json", "--only", "worker"], within: .seconds(60))
                #expect(visit.text.contains(found), "\(visit.text)")
                #expect(try s3.keys(below: "chats/cloakroom-doctor") == [])
                #expect(!(try s3.content("?uploads=")).contains("chats/cloakroom-doctor"))
            }
            let ceph = try EndToEnd.ceph()
            let file = try ceph.settings(try RunFolder.make("ceph-release-doctor")) { ReleasePlaces.change(mode, &$0) }
            let visit = try Command(
                ["doctor", "--settings", file, "--json", "--only", "worker"], environment: ceph.environment,
                within: .seconds(60))
            #expect(visit.text.contains(found), "\(visit.text)")
            for query in ["?prefix=chats/cloakroom-doctor", "?uploads="] {
                #expect(!(try ceph.ask("GET", query).text).contains("<Key>chats/cloakroom-doctor"))
            }
        }

        /// That two messages show one image, only the app knows.
        @Test func `the kit uploads an image of a chat and releases it`() async throws {
            let options = Stack.Options(nginx: true, s3: true) { ReleasePlaces.change("delete", &$0) }
            try await Stack.run("release-kit", options) { stack in
                let kit = try Kit(stack)
                let s3 = try EndToEnd.s3()
                let uploads = AssetUploader(uploader: kit.client, releasesChatImages: true)
                let image = try await uploads.uploadChatImage(
                    UploadContent(Data("an image".utf8), contentType: "image/png"))
                let release = try #require(image.release)
                Secrets.keep(release.releaseToken)
                #expect(try s3.content(image.objectKey) == "an image")
                let wrong = ImageRelease(objectKey: release.objectKey, releaseToken: "v1.AAAA")
                #expect(
                    try await kit.client.release([wrong, release]).map(\.outcome)
                        == [.refused(reason: "forbidden"), .released(bytesGoneBy: nil)])
                #expect(try s3.head(image.objectKey).status == 404)
                let again = try await kit.client.release([release])
                #expect(again.map(\.outcome) == [.released(bytesGoneBy: nil)])
            }
            try await Stack.run("release-off", .init(nginx: true, s3: true)) { stack in
                let kit = try Kit(stack)
                let error = try await cloakroomError {
                    _ = try await kit.client.requestChatUpload(contentType: "image/png", byteCount: 3)
                }
                #expect(error?.code == .chatNotEnabled)
            }
        }
    }
}
