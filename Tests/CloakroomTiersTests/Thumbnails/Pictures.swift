#if os(Linux)
    import Foundation
    import Testing

    /// Pictures of a test, made by libvips' command line, in a folder that goes with this object.
    final class Pictures: Sendable {
        let folder: URL

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("pictures-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

        func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> URL {
            let file = file(name)
            try Data(bytes).write(to: file)
            return file
        }

        /// Runs `vips` in the folder, and gives what it prints.
        @discardableResult
        func vips(_ arguments: String...) throws -> String {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/vips")
            process.arguments = arguments
            process.currentDirectoryURL = folder
            let output = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            try #require(process.terminationStatus == 0, "vips \(arguments)")
            return text
        }

        /// Noise that no codec makes small, in three colors.
        func noise(_ width: Int, _ height: Int, to name: String) throws -> URL {
            try vips("gaussnoise", "noise.v", "\(width)", "\(height)", "--mean", "128", "--sigma", "70")
            try vips("cast", "noise.v", "grey.v", "uchar")
            try vips("rot", "grey.v", "turned.v", "d180")
            try vips("flip", "grey.v", "flipped.v", "horizontal")
            try vips("bandjoin", "grey.v turned.v flipped.v", "colors.v")
            try vips("copy", "colors.v", name, "--interpretation", "srgb")
            return file(name)
        }

        /// One color.
        func plain(_ width: Int, _ height: Int, _ color: String, to name: String) throws -> URL {
            try vips("black", "black.v", "\(width)", "\(height)", "--bands", "3")
            try vips("linear", "black.v", "color.v", "1 1 1", color, "--uchar")
            try vips("copy", "color.v", name, "--interpretation", "srgb")
            return file(name)
        }

        /// The left half red, the right one blue.
        func halves(_ width: Int, _ height: Int, to name: String) throws -> URL {
            _ = try plain(width / 2, height, "250 0 0", to: "left.v")
            _ = try plain(width / 2, height, "0 0 250", to: "right.v")
            try vips("join", "left.v", "right.v", name, "horizontal")
            return file(name)
        }

        /// The color of a pixel.
        func color(of picture: Data, x: Int, y: Int) throws -> [Int] {
            let name = "color-\(UUID().uuidString).jpg"
            _ = try write(picture, to: name)
            let values = try vips("getpoint", name, "\(x)", "\(y)").split(whereSeparator: \.isWhitespace)
            return values.compactMap { Double($0).map { Int($0.rounded()) } }
        }

        /// The same JPEG with an EXIF segment that says how it is turned.
        func turned(_ picture: URL, orientation: UInt8, to name: String) throws -> URL {
            let directory: [UInt8] = [1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
            let exif = Array("Exif\0\0".utf8) + [0x49, 0x49, 42, 0, 8, 0, 0, 0] + directory
            let segment = [0xff, 0xe1, 0, UInt8(exif.count + 2)] + exif
            let bytes = try Data(contentsOf: picture)
            return try write(bytes.prefix(2) + segment + bytes.dropFirst(2), to: name)
        }

        /// A program that does what the lines of a shell script say.
        func program(_ lines: String) throws -> URL {
            let file = try write("#!/bin/sh\n\(lines)\n".utf8, to: "program-\(UUID().uuidString)")
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: file.path)
            return file
        }
    }
#endif
