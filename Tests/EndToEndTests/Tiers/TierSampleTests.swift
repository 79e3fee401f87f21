import Foundation
import Testing

extension EndToEnd {
    /// The sample's `tier`, on the real parts.
    @Suite struct TierSample {
        private static var options: Stack.Options {
            Stack.Options(nginx: true, s3: true) { TierSettings.change(&$0) }
        }

        @Test func `photos of a month ago leave the device, and a second device has every byte of them`() throws {
            try Stack.run("tier-sample", Self.options) { stack in
                let first = try Sample(stack, user: "u_tiers", device: "first")
                let photos = try Album("\(stack.folder)/album")
                let added = try first.run("tier", "add", "--days-ago", "31", photos.folder)
                #expect(added.text == "added \(photos.count), failed 0\n")
                #expect(added.status == 0)
                #expect(try onDevice(first) == photos.count)

                // The text has no thumbnail.
                let run = try first.run("tier", "run")
                #expect(run.text.contains("left the device \(photos.pictures) "), "\(run.text)")
                #expect(try onDevice(first) == 1)
                let list = try first.run("tier", "list").text.split(separator: "\n")
                #expect(list.count { $0.contains(" cold ") } == photos.pictures, "\(list)")
                #expect(list.count { $0.contains(" no thumbnail") } == 1, "\(list)")

                let copy = "\(stack.folder)/copy"
                #expect(try first.run("tier", "open", "2026/photo-3.gif", copy).status == 0)
                #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == photos.content("2026/photo-3.gif"))
                let again = try first.run("tier", "open", "2026/photo-3.gif", copy)
                #expect(again.status == 1 && again.text.contains("exists; give another file"), "\(again.text)")

                let second = try Sample(stack, user: "u_tiers", device: "second")
                let rebuilt = try second.run("tier", "rebuild")
                #expect(
                    rebuilt.text.hasPrefix("photos \(photos.count), of these without a name 0,"), "\(rebuilt.text)")
                let restored = try second.run("tier", "restore")
                #expect(restored.text.contains("missing 0, failed 0"), "\(restored.text)")
                for name in photos.names {
                    let file = "\(stack.folder)/\(name.replacing("/", with: "-"))"
                    #expect(try second.run("tier", "open", name, file).status == 0)
                    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == photos.content(name), "\(name)")
                }
                // Restoring keeps them.
                let kept = try second.run("tier", "free", "--perform")
                #expect(kept.text.contains("left the device: 0 photos") && kept.status == 1, "\(kept.text)")
                let usage = try second.run("tier", "usage")
                #expect(usage.text.contains("stay here       forever"), "\(usage.text)")
            }
        }

        @Test func `freeing space only shows what it would do, until it is told to do it`() throws {
            try Stack.run("tier-free", Self.options) { stack in
                let sample = try Sample(stack, user: "u_free")
                let photos = try Album("\(stack.folder)/album")
                #expect(try sample.run("tier", "add", photos.folder).status == 0)
                let preview = try sample.run("tier", "free")
                #expect(preview.text.contains("would leave the device: \(photos.pictures) photos"), "\(preview.text)")
                #expect(try onDevice(sample) == photos.count)
                // What was opened stays for a week.
                #expect(try sample.run("tier", "open", "photo-2.gif", "\(stack.folder)/copy").status == 0)
                let done = try sample.run("tier", "free", "--perform")
                #expect(done.text.contains("left the device: \(photos.pictures - 1) photos"), "\(done.text)")
                #expect(try onDevice(sample) == 2)
            }
        }

        @Test func `a failure says what to do, and a wrong command line is refused with 2`() throws {
            // Users have no catalogs: what the worker's settings are by default.
            try Stack.run("tier-failures", .init(nginx: true, s3: true)) { stack in
                let sample = try Sample(stack, user: "u_failures")
                let photos = try Album("\(stack.folder)/album")
                #expect(try sample.run("tier", "add", "--days-ago", "31", photos.folder).status == 0)
                let run = try sample.run("tier", "run")
                #expect(run.status == 1)
                #expect(run.text.contains("vending.prefixes must have photos, thumbnails and catalogs"), "\(run.text)")
                #expect(try onDevice(sample) == photos.count)

                let other = "\(stack.folder)/photo-3.gif"
                try Album.picture(99).write(to: URL(fileURLWithPath: other))
                try FileManager.default.createDirectory(
                    atPath: "\(stack.folder)/other/2026", withIntermediateDirectories: true)
                try FileManager.default.copyItem(atPath: other, toPath: "\(stack.folder)/other/2026/photo-3.gif")
                let taken = try sample.run("tier", "add", "\(stack.folder)/other")
                #expect(taken.status == 1 && taken.text.contains("add it under another name"), "\(taken.text)")
                let unknown = try sample.run("tier", "open", "nothing", "\(stack.folder)/nothing")
                #expect(unknown.status == 1, "\(unknown.text)")
                #expect(unknown.text.contains("tier list shows what there is"), "\(unknown.text)")

                for words in [
                    ["tier"], ["tier", "nonsense"], ["tier", "add"], ["tier", "add", "\(stack.folder)/no-such-folder"],
                    ["tier", "add", "--days-ago", "-1", other], ["tier", "list", "more"], ["tier", "open", "a"],
                    ["tier", "open", "--id", "x", "a"], ["tier", "run", "--keep", "8"],
                    ["tier", "run", "--upload", "x"],
                    ["tier", "run", "--dismiss", "x"], ["tier", "free", "--now"], ["tier", "restore", "more"],
                    ["tier", "usage", "more"], ["tier", "rebuild", "more"],
                ] {
                    let refused = try sample.run(words)
                    #expect(refused.status == 2, "\(words): \(refused.text)")
                }
            }
        }

        /// How many photos the device has.
        private func onDevice(_ sample: Sample) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "\(sample.state)/tier/photos").count
        }
    }
}

/// A folder of small pictures in large files, and of one text.
private struct Album {
    let folder: String
    let pictures = 6
    private(set) var names: [String] = []
    var count: Int { names.count }

    init(_ folder: String) throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: "\(folder)/2026", withIntermediateDirectories: true)
        for number in 0..<pictures {
            let name = number % 2 == 0 ? "photo-\(number).gif" : "2026/photo-\(number).gif"
            try Self.picture(number).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            names.append(name)
        }
        try Data("no picture".utf8).write(to: URL(fileURLWithPath: "\(folder)/text.txt"))
        names.append("text.txt")
    }

    func content(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")) }

    /// A GIF of one pixel (GIF89a, 1990), and bytes behind its end that no reader looks at.
    static func picture(_ number: Int) -> Data {
        let header = Data("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF]
        let image = Data([0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B])
        return header + image + Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7) })
    }
}
