#if os(Linux)
    import CloakroomKit
    @testable import CloakroomTiers
    import Foundation
    import Testing

    /// What libvips makes of all kinds of files.
    @Suite(.serialized) struct VipsThumbnailerTests {
        private let pictures: Pictures
        private let thumbnailer = VipsThumbnailer()

        init() throws { pictures = try Pictures() }

        private func thumbnail(of file: URL) async throws -> Thumbnail {
            try await thumbnailer.thumbnail(of: file, maximumPixelSize: Thumbnail.maximumPixelSize)
        }

        @Test(arguments: ["jpg", "png", "gif", "webp", "tif", "heic", "avif"])
        func `a picture of each format has a thumbnail`(format: String) async throws {
            let file = try pictures.plain(800, 600, "240 120 30", to: "picture.\(format)")
            #expect(try PhotoFormat.sniff(Data(contentsOf: file)) == format)
            let thumbnail = try await thumbnail(of: file)
            #expect((thumbnail.width, thumbnail.height) == (256, 192))
            #expect(thumbnail.bytes.count <= Thumbnail.maximumBytes)
            let color = try pictures.color(of: thumbnail.bytes, x: 128, y: 96)
            #expect(zip(color, [240, 120, 30]).allSatisfy { abs($0 - $1) <= 6 }, "\(color)")
        }

        @Test(arguments: [
            // What is at the left is, upright, at: the left, the right, the top, the bottom.
            (1, (32, 96), (224, 96)), (3, (224, 96), (32, 96)), (6, (96, 32), (96, 224)), (8, (96, 224), (96, 32)),
        ])
        func `a picture that the camera held turned is upright`(
            orientation: UInt8, red: (x: Int, y: Int), blue: (x: Int, y: Int)
        ) async throws {
            let upright = try pictures.halves(800, 600, to: "picture.jpg")
            let file = try pictures.turned(upright, orientation: orientation, to: "turned.jpg")
            let thumbnail = try await thumbnail(of: file)
            #expect(thumbnail.width == (orientation < 5 ? 256 : 192))
            #expect(thumbnail.height == (orientation < 5 ? 192 : 256))
            #expect(try pictures.color(of: thumbnail.bytes, x: red.x, y: red.y)[0] > 200)
            #expect(try pictures.color(of: thumbnail.bytes, x: blue.x, y: blue.y)[2] > 200)
            // Or it would be turned again where it is shown.
            #expect(thumbnail.bytes.range(of: Data("Exif".utf8)) == nil)
        }

        @Test func `the quality is lowered until it fits, and then the size`() async throws {
            let noise = try await thumbnail(of: try pictures.noise(256, 256, to: "noise.png"))
            #expect(noise.bytes.count <= Thumbnail.maximumBytes)
            // The quality first.
            #expect(noise.width == 256)
            // As large as it can be.
            #expect(noise.bytes.count > Thumbnail.maximumBytes / 4)
            let large = try await thumbnailer.thumbnail(
                of: try pictures.noise(1024, 1024, to: "large.png"), maximumPixelSize: 1024)
            #expect(large.bytes.count <= Thumbnail.maximumBytes)
            #expect(large.width < 1024)
        }

        @Test func `a small picture is not made larger`() async throws {
            let thumbnail = try await thumbnail(of: try pictures.plain(40, 20, "9 9 9", to: "small.png"))
            #expect((thumbnail.width, thumbnail.height) == (40, 20))
        }

        @Test(arguments: [(0, 1, 1), (-7, 1, 1), (100, 100, 50), (1 << 40, 400, 200)])
        func `any size can be wanted`(wanted: Int, width: Int, height: Int) async throws {
            let file = try pictures.plain(400, 200, "9 9 9", to: "picture.png")
            let thumbnail = try await thumbnailer.thumbnail(of: file, maximumPixelSize: wanted)
            #expect((thumbnail.width, thumbnail.height) == (width, height))
        }

        @Test func `no picture is made of more pixels than a screen has`() async throws {
            let trace = pictures.file("trace")
            let program = try pictures.program("echo \"$*\" >'\(trace.path)'")
            let file = try pictures.plain(9, 9, "9 9 9", to: "a.jpg")
            _ = try? await VipsThumbnailer(program: program).thumbnail(of: file, maximumPixelSize: 1 << 40)
            #expect(try String(contentsOf: trace, encoding: .utf8).contains("--size 4096x4096>"))
        }

        @Test func `a picture of one line keeps its proportions as far as it can`() async throws {
            let thumbnail = try await thumbnail(of: try pictures.plain(20_000, 2, "9 9 9", to: "line.png"))
            #expect((thumbnail.width, thumbnail.height) == (256, 1))
        }

        @Test func `colors of a wide color space are those of sRGB`() async throws {
            _ = try pictures.plain(40, 20, "250 10 10", to: "red.png")
            try pictures.vips("icc_transform", "red.png", "wide.jpg", "p3", "--input-profile", "srgb")
            let wide = try await thumbnail(of: pictures.file("wide.jpg"))
            let color = try pictures.color(of: wide.bytes, x: 5, y: 5)
            // Read as sRGB, the same numbers were 229, 51, 37.
            #expect(zip(color, [250, 10, 10]).allSatisfy { abs($0 - $1) <= 8 }, "\(color)")
        }

        @Test(arguments: ["grey.png", "grey.jpg", "cmyk.jpg", "sixteen.png", "bits.png"])
        func `a picture of other than three times eight bits has a thumbnail`(name: String) async throws {
            _ = try pictures.plain(400, 200, "180 180 180", to: "color.png")
            switch name {
            case "cmyk.jpg": try pictures.vips("icc_transform", "color.png", "cmyk.jpg[strip]", "cmyk")
            case "sixteen.png": try pictures.vips("colourspace", "color.png", name, "rgb16")
            case "bits.png": try pictures.vips("colourspace", "color.png", "bits.png[bitdepth=1]", "b-w")
            default: try pictures.vips("colourspace", "color.png", "\(name)[strip]", "b-w")
            }
            let thumbnail = try await thumbnail(of: pictures.file(name))
            #expect((thumbnail.width, thumbnail.height) == (256, 128))
            let color = try pictures.color(of: thumbnail.bytes, x: 99, y: 99)
            let grey = name == "bits.png" ? 255 : 180
            #expect(color.allSatisfy { abs($0 - grey) <= 12 }, "\(color)")
        }

        @Test func `what is transparent is white`() async throws {
            _ = try pictures.plain(40, 20, "250 10 10", to: "red.png")
            try pictures.vips("bandjoin_const", "red.png", "clear.png", "0")
            let thumbnail = try await thumbnail(of: pictures.file("clear.png"))
            #expect(try pictures.color(of: thumbnail.bytes, x: 5, y: 5) == [255, 255, 255])
        }

        @Test func `the part of a truncated picture that is there has a thumbnail`() async throws {
            let whole = try Data(contentsOf: pictures.noise(800, 600, to: "whole.jpg"))
            let half = try await thumbnail(of: try pictures.write(whole.prefix(whole.count / 2), to: "half.jpg"))
            #expect((half.width, half.height) == (256, 192))
        }

        @Test(arguments: ["jpg", "png", "gif", "webp", "tif", "heic", "avif"])
        func `a picture that ends in its header has none`(format: String) async throws {
            let whole = try Data(contentsOf: pictures.noise(800, 600, to: "whole.\(format)"))
            let file = try pictures.write(whole.prefix(40), to: "header.\(format)")
            await #expect(throws: CloakroomError.self) { try await thumbnail(of: file) }
        }

        @Test(arguments: [
            "", "not a picture", "%PDF-1.7\n%%EOF", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
            "P3 1 1 255 0 0 0",
        ])
        func `what is no photo has none`(content: String) async throws {
            let file = try pictures.write(content.utf8, to: "photo.jpg")
            let error = await #expect(throws: CloakroomError.self) { try await thumbnail(of: file) }
            #expect(error?.code == .unreadableFile)
        }

        @Test(arguments: [
            "-o evil.jpg", "a[Q=1].jpg", "$(touch evil).jpg", "a;touch evil;.jpg", "a\nb.jpg", "stdin", "%s.jpg",
            "é ʼ 😀",
        ])
        func `a name is never read as anything but a name`(name: String) async throws {
            let file = try pictures.plain(300, 200, "10 200 10", to: "plain.jpg")
            try FileManager.default.moveItem(at: file, to: pictures.file(name))
            let before = try FileManager.default.contentsOfDirectory(atPath: pictures.folder.path)
            #expect(try await thumbnail(of: pictures.file(name)).width == 256)
            let after = try FileManager.default.contentsOfDirectory(atPath: pictures.folder.path)
            #expect(after.sorted() == before.sorted())
        }

        @Test func `what is no regular file has none, and nothing waits for it`() async throws {
            let pipe = pictures.file("pipe.jpg")
            try #require(mkfifo(pipe.path, 0o600) == 0)
            for file in [pipe, pictures.folder, URL(fileURLWithPath: "/dev/zero"), pictures.file("absent.jpg")] {
                let error = await #expect(throws: CloakroomError.self) { try await thumbnail(of: file) }
                #expect(error?.code == .unreadableFile)
            }
        }
    }
#endif
