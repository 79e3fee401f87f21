import CloakroomCrypto
import CloakroomSQLite
import Foundation
import Testing

extension EndToEnd {
    /// The kit's sample on the real parts.
    @Suite struct Backup {
        @Test func `a backup that is killed twice goes on, and every byte comes back`() throws {
            try Stack.run("backup", .init(nginx: true, s3: true)) { stack in
                let sample = try Sample(stack, user: "u_backup")
                let photos = try Photos(folder: "\(stack.folder)/photos")
                for least in [60, 250] {
                    let run = try sample.start("backup", photos.folder)
                    try wait(for: "\(least) photos in S3", within: .seconds(60)) {
                        guard run.isRunning else {
                            throw MissingProgramError(description: "it ended early: \(run.text)")
                        }
                        return try EndToEnd.s3().keys(below: "photos/u_backup/").count >= least
                    }
                    #expect(run.stop(SIGKILL) == 137)
                }
                let there = try EndToEnd.s3().keys(below: "photos/u_backup/").count
                let last = try sample.run("backup", photos.folder)
                let told = try #require(
                    last.text.firstMatch(of: /backed up (\d+), already there (\d+), failed (\d+)/), "\(last.text)")
                #expect(last.status == 0)
                #expect(told.3 == "0")
                #expect((Int(told.1) ?? 0) + (Int(told.2) ?? 0) == photos.count)
                // What S3 had is not sent again; the equal pair is one more file.
                #expect(Int(told.2) ?? 0 >= there)
                let again = try sample.run("backup", photos.folder)
                #expect(again.text == "backed up 0, already there \(photos.count), failed 0\n")
                let restored = try sample.run("restore", "\(stack.folder)/restored")
                #expect(restored.status == 0, "\(restored.text)")
                try photos.expectAll(in: "\(stack.folder)/restored")
            }
        }

        @Test func `the sample renews an image that is listed twice, and counts it once`() throws {
            try Stack.run("sample-renewal", .init(nginx: true, s3: true)) { stack in
                let sample = try Sample(stack, user: "u_renewal")
                let (image, list) = ("\(stack.folder)/image.jpg", "\(stack.folder)/list")
                try Data("an image".utf8).write(to: URL(fileURLWithPath: image))
                let uploaded = try sample.run("upload", image)
                #expect(uploaded.status == 0, "\(uploaded.text)")
                try (uploaded.text + uploaded.text).write(toFile: list, atomically: true, encoding: .utf8)
                let renewed = try sample.run("renew", "--now", list)
                #expect(renewed.text == "renewed 1, not due 0, failed 0\n")
                #expect(renewed.status == 0)
                // A renewal that cannot be recorded is a failure.
                let records = try SQLiteDatabase(at: sample.renewals)
                try records.run("BEGIN IMMEDIATE")
                let unrecorded = try sample.run("renew", "--now", list)
                #expect(unrecorded.text.hasSuffix("renewed 1, not due 0, failed 0\n"), "\(unrecorded.text)")
                #expect(unrecorded.status == 1)
            }
        }
    }
}

/// 500 files as people have them: many small, few large, two equal.
private struct Photos {
    let folder: String
    let count = 500

    init(folder: String) throws {
        self.folder = folder
        for number in 0..<count {
            let place = "\(folder)/\(number % 7)"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let content = Self.content(number == count - 1 ? 0 : number)
            try Data(content).write(to: URL(fileURLWithPath: "\(place)/\(number).jpg"))
        }
    }

    /// Of 1 KB to 20 MB, about 100 MB together.
    private static func byteCount(_ number: Int) -> Int {
        switch number {
        case 497, 498: 20_000_000
        case 490...496: 3_000_000 + number * 1000
        case 400...489: 200_000 + number * 100
        default: 1000 + number * 60
        }
    }

    /// Other bytes for each number, eight at a time (xorshift64, Marsaglia 2003).
    private static func content(_ number: Int) -> [UInt8] {
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
        let words = (0..<byteCount(number) / 8).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
        let rest = [UInt8](repeating: UInt8(number & 0xFF), count: byteCount(number) % 8)
        return words.withUnsafeBytes { Array($0) } + rest
    }

    /// Each file's bytes are in one of `folder`'s files, and nothing else is.
    func expectAll(in folder: String) throws {
        var restored: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            restored[String(name.prefix(32))] = "\(folder)/\(name)"
        }
        #expect(restored.count == count - 1)
        for number in 0..<count - 1 {
            let content = Data(Self.content(number))
            let path = restored[MD5.hash(content).hexadecimal] ?? ""
            #expect(FileManager.default.contents(atPath: path) == content, "file \(number)")
        }
    }
}
