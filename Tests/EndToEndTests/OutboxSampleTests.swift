import CloakroomCrypto
import Foundation
import Testing

extension EndToEnd {
    /// The queue of uploads of the kit's sample, each command a process of its own.
    @Suite struct OutboxSample {
        private static let photo = Data("a photo".utf8)
        private static let md5 = MD5.hash(photo).hexadecimal

        private func write(_ name: String, _ data: Data, _ stack: Stack) throws -> String {
            let path = "\(stack.folder)/\(name)"
            try data.write(to: URL(fileURLWithPath: path))
            return path
        }

        @Test func `what was added is listed, sent by another process, and shown; what cannot be sent is retried`()
            throws
        {
            try Stack.run("outbox-sample", .init(nginx: true, s3: true)) { stack in
                let sample = try Sample(stack, user: "u_outbox")
                let photo = try write("photo.jpg", Self.photo, stack)
                let image = try write("image.jpg", Data("an image".utf8), stack)
                let page = try write("page.html", Data("a page".utf8), stack)
                for words in [[photo], ["--asset", image], ["--asset", "--type", "text/html", page]] {
                    let added = try sample.run(["outbox", "add"] + words)
                    #expect(added.status == 0 && added.text.hasSuffix("  \(words[words.count - 1])\n"), "\(added.text)")
                    try FileManager.default.removeItem(atPath: words[words.count - 1])
                }
                let listed = try sample.run("outbox", "list")
                let lines = listed.text.split(separator: "\n")
                #expect(lines.count == 3 && lines.allSatisfy { $0.hasSuffix(" bytes  waiting") }, "\(listed.text)")
                #expect(listed.text.contains("photo \(Self.md5)  7 bytes"))

                let run = try sample.run("outbox", "run")
                #expect(run.status == 1 && run.text.contains("\(image)  http"), "\(run.text)")
                #expect(run.text.hasSuffix("sent 2, left 1, failed 1\n"), "\(run.text)")
                #expect(try EndToEnd.s3().keys(below: "photos/u_outbox/") == ["photos/u_outbox/\(Self.md5).dat"])
                let failed = try sample.run("outbox", "list")
                #expect(failed.text.contains("asset \(page)  6 bytes  failed: "), "\(failed.text)")
                #expect(try sample.run("outbox", "retry").status == 0)
                #expect(try sample.run("outbox", "list").text.hasSuffix("6 bytes  waiting\n"))
                let unknown = try sample.run("outbox", "retry", "none")
                #expect(unknown.status == 1 && unknown.text.contains("there is no item none"), "\(unknown.text)")

                for name in [Self.md5, "photos/u_outbox/\(Self.md5).dat"] {
                    #expect(try sample.run("show", name).text == "a photo")
                }
                #expect(try sample.run("show", "--range", "2-4", Self.md5).text == "pho")
                let url = try sample.run("show", "--url", Self.md5)
                #expect(url.text.contains("\(Self.md5).dat?") && url.text.contains("X-Amz-Signature="))
                Secrets.keep(url.text.trimmingCharacters(in: .whitespacesAndNewlines))
                #expect(try sample.run("show", String(repeating: "0", count: 32)).status == 1)
            }
        }

        @Test func `a sign-out keeps, discards or sends what is unsent, as the user says`() throws {
            try Stack.run("outbox-sign-out", .init(nginx: true, s3: true)) { stack in
                let photo = try write("photo.jpg", Self.photo, stack)
                func signedIn() throws -> Sample { try Sample(stack, user: "u_leaving") }
                var sample = try signedIn()
                #expect(try sample.run("outbox", "add", photo).status == 0)
                let refused = try sample.run("sign-out")
                #expect(refused.status == 1, "\(refused.text)")
                #expect(refused.text.contains("1 items of 7 bytes are unsent"), "\(refused.text)")
                #expect(try sample.run("sign-out", "--keep", "--discard").status == 2)

                let kept = try sample.run("sign-out", "--keep")
                #expect(kept.text == "signed out; sent 0, kept 1, removed 0\n", "\(kept.text)")
                #expect(try sample.run("outbox", "list").status == 2)
                sample = try signedIn()
                #expect(try sample.run("outbox", "list").text.contains("photo \(Self.md5)"))

                let discarded = try sample.run("sign-out", "--discard")
                #expect(discarded.text.contains("photo \(Self.md5)"), "\(discarded.text)")
                #expect(discarded.text.hasSuffix("signed out; sent 0, kept 0, removed 1\n"), "\(discarded.text)")
                sample = try signedIn()
                #expect(try sample.run("outbox", "list").text.isEmpty)
                #expect(try EndToEnd.s3().keys(below: "photos/u_leaving/").isEmpty)

                #expect(try sample.run("outbox", "add", photo).status == 0)
                let sent = try sample.run("sign-out", "--after-sending", "30")
                #expect(sent.text == "signed out; sent 1, kept 0, removed 0\n", "\(sent.text)")
                #expect(try EndToEnd.s3().keys(below: "photos/u_leaving/").count == 1)
            }
        }
    }
}
