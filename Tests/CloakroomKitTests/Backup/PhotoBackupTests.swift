import CloakroomAWS
import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import CloakroomSQLite
import Testing

@testable import CloakroomKit

@Suite struct PhotoBackupTests {
    private let folder: TemporaryFolder
    private let fake = FakeRuntime()
    private let layout: PhotoLayout

    init() throws {
        folder = try TemporaryFolder()
        layout = try PhotoLayout(userID: "u_1")
    }

    private func backup(
        to s3: FakeS3, index: PhotoIndex? = nil, sidecars: (any PhotoSidecarProvider)? = nil, filesAtOnce: Int = 4
    ) -> PhotoBackup {
        var options = PhotoBackup.Options()
        options.filesAtOnce = filesAtOnce
        return PhotoBackup(
            client: .over(s3, fake), layout: layout, index: index, sidecars: sidecars, options: options)
    }

    private func key(_ content: String) -> String { "photos/u_1/\(MD5.hash(Array(content.utf8)).hexadecimal).dat" }

    /// - Returns: a report in which only this is not as at the beginning.
    private func report(_ change: (inout BackupReport) -> Void) -> BackupReport {
        var report = BackupReport()
        change(&report)
        return report
    }

    @Test func `each photo is stored once under its MD5, with what it is`() async throws {
        for (name, content) in [("a.JPG", "one"), ("b.heic", "two"), ("c/d.jpg", "one"), ("e", "")] {
            try folder.write(name, content)
        }
        for number in 0..<4 { try folder.write("more/\(number).png", "more \(number)") }
        let s3 = FakeS3()
        let report = await backup(to: s3, filesAtOnce: 1).backUp(folder: folder.url)
        #expect(
            report
                == self.report {
                    $0.backedUp = 7
                    $0.alreadyThere = 1
                    $0.bytesUploaded = 30
                })
        #expect(report.isComplete)
        let objects = await s3.objects
        #expect(Set(objects.keys) == Set(["one", "two", ""].map(key) + (0..<4).map { key("more \($0)") }))
        #expect(objects[key("two")]?.fields["x-amz-meta-original-format"] == "heic")
        #expect(objects[key("one")]?.fields["x-amz-meta-original-format"] == "jpg")
        #expect(objects[key("")]?.fields["x-amz-meta-original-format"] == nil)
    }

    @Test func `equal files at the same time are sent once`() async throws {
        for number in 0..<20 { try folder.write("\(number).jpg", "the same") }
        let s3 = FakeS3()
        let report = await backup(to: s3, filesAtOnce: 16).backUp(folder: folder.url)
        #expect(
            report
                == self.report {
                    $0.backedUp = 1
                    $0.alreadyThere = 19
                    $0.bytesUploaded = 8
                })
        #expect(await s3.lines.filter { $0.hasPrefix("PUT") } == ["PUT \(key("the same"))"])
    }

    @Test func `a second run lists, and sends nothing`() async throws {
        for number in 0..<9 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3()
        _ = await backup(to: s3).backUp(folder: folder.url)
        let before = await s3.lines.count
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report == self.report { $0.alreadyThere = 9 })
        #expect(await s3.lines.dropFirst(before) == ["GET ", "GET ", "GET "])
    }

    @Test func `a few files are looked for one by one`() async throws {
        let files = [try folder.write("a.jpg", "a"), try folder.write("b.jpg", "b")]
        let s3 = FakeS3()
        await s3.put(key("a"), Data("a".utf8))
        let report = await backup(to: s3, filesAtOnce: 1).backUp(files)
        #expect(
            report
                == self.report {
                    $0.backedUp = 1
                    $0.alreadyThere = 1
                    $0.bytesUploaded = 1
                })
        #expect(await s3.lines.first == "HEAD \(key("a"))")
        #expect(await s3.lines.last == "PUT \(key("b"))")
    }

    @Test func `what has another size under a photo's name is replaced`() async throws {
        for number in 0..<5 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3()
        await s3.put(key("photo 3"), Data("half".utf8))
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.backedUp == 5)
        #expect(await s3.objects[key("photo 3")]?.bytes == Data("photo 3".utf8))
    }

    @Test func `what has another size under a photo's name is replaced, also when it is looked for alone`() async throws
    {
        let files = [try folder.write("a.jpg", "photo a"), try folder.write("b.jpg", "photo b")]
        let s3 = FakeS3()
        await s3.put(key("photo a"), Data("half".utf8))
        let report = await backup(to: s3, filesAtOnce: 1).backUp(files)
        #expect(
            report
                == self.report {
                    $0.backedUp = 2
                    $0.bytesUploaded = 14
                })
        #expect(await s3.objects[key("photo a")]?.bytes == Data("photo a".utf8))
        #expect(
            await s3.lines.filter { $0.hasSuffix(key("photo a")) }.map { $0.prefix(4) } == [
                "HEAD", "PUT ", "HEAD", "PUT ",
            ])
    }

    @Test(arguments: [nil, "half"])
    func `a condition that failed is no proof of a photo: S3 is checked, and it is stored`(there: String?) async throws
    {
        for number in 0..<5 { try folder.write("\(number).jpg", "photo \(number)") }
        let key = key("photo 3")
        let refusals = Recorder<String>()
        let s3 = FakeS3 { method, place, request in
            guard method == "PUT", place == key, refusals.all.isEmpty else { return nil }
            refusals.append(place)
            return FakeS3.error(412, "PreconditionFailed")
        }
        if let there { await s3.put(key, Data(there.utf8)) }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.backedUp == 5)
        #expect(refusals.all.count == 1)
        #expect(await s3.objects[key]?.bytes == Data("photo 3".utf8))
    }

    @Test func `a listing that does not come whole sends nothing and says why`() async throws {
        for number in 0..<5 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3 { method, key, _ in
            method == "GET" && key.isEmpty ? HTTPResponse(status: 200, body: Data("<ListBucketResult>".utf8)) : nil
        }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.stoppedBy != nil)
        #expect(report.remaining == 5)
        #expect(!(await s3.lines.contains { $0.hasPrefix("PUT") }))
    }

    @Test func `one file that fails does not stop the others`() async throws {
        for number in 0..<9 { try folder.write("\(number).jpg", "photo \(number)") }
        let bad = key("photo 4")
        let s3 = FakeS3 { method, key, _ in
            method == "PUT" && key == bad ? FakeS3.error(400, "EntityTooLarge") : nil
        }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.backedUp == 8)
        #expect(report.failures.map(\.file.lastPathComponent) == ["4.jpg"])
        #expect(report.failures.first?.error.serverCode == "EntityTooLarge")
        #expect(report.stoppedBy == nil)
    }

    @Test func `denied is denied for all: the run ends with what is left`() async throws {
        for number in 0..<40 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3 { method, _, _ in method == "PUT" ? FakeS3.error(403, "AccessDenied") : nil }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.stoppedBy?.code == .accessDenied)
        #expect(report.backedUp == 0)
        #expect(report.failures.count + report.remaining == 40)
        #expect(await s3.lines.filter { $0.hasPrefix("PUT") }.count <= 8)
    }

    @Test func `an unreachable store ends the run after a few files, each retried`() async throws {
        for number in 0..<40 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3 { method, _, _ in
            if method == "PUT" { throw HTTPTransportError.unreachable }
            return nil
        }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.stoppedBy?.code == .unreachable)
        #expect(report.failures.count == 8)
        #expect(report.failures.count + report.remaining == 40)
    }

    @Test func `a token provider that fails ends the run: no other file is read`() async throws {
        for number in 0..<40 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3()
        let client = S3BackupClient(
            transport: s3, endpoint: URL(string: "http://127.0.0.1:8333"), journal: InMemoryMultipartJournal(),
            sizes: .init(), runtime: fake.runtime
        ) {
            if await s3.objects.count == 2 { throw CloakroomError(.tokenUnavailable, "signed out") }
            return .init(
                bucket: FakeS3.bucket, region: "us-east-1",
                source: CredentialSource(Credentials(accessKeyID: "AKIA", secretAccessKey: Secret("secret"))))
        }
        var options = PhotoBackup.Options()
        options.filesAtOnce = 1
        let report = await PhotoBackup(client: client, layout: layout, options: options).backUp(folder: folder.url)
        #expect(report.stoppedBy?.code == .tokenUnavailable)
        #expect(report.backedUp == 2)
        #expect(report.failures.count == 1)
        #expect(report.remaining == 37)
    }

    @Test func `cancelled, it ends at once and says so`() async throws {
        for number in 0..<40 { try folder.write("\(number).jpg", "photo \(number)") }
        let gate = Gate()
        let s3 = FakeS3 { method, _, _ in
            if method == "PUT", await !gate.pass() { throw HTTPTransportError.cancelled }
            return nil
        }
        let backup = backup(to: s3)
        let url = folder.url
        let run = Task { await backup.backUp(folder: url) }
        try await until { await s3.lines.filter { $0.hasPrefix("PUT") }.count == 4 }
        run.cancel()
        let report = await run.value
        #expect(report.stoppedBy?.code == .cancelled)
        #expect(report.remaining == 40)
        #expect(report.failures == [])
    }

    @Test func `a file that changes meanwhile is stored as it is in the end`() async throws {
        for number in 0..<5 { try folder.write("\(number).jpg", "photo \(number)") }
        let file = folder.url.appendingPathComponent("3.jpg")
        let changing = key("photo 3")
        let s3 = FakeS3 { method, key, _ in
            if method == "PUT", key == changing { try Data("another one".utf8).write(to: file) }
            return nil
        }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.isComplete)
        #expect(report.backedUp == 5)
        #expect(await s3.objects[key("another one")] != nil)
    }

    @Test func `a file that never rests is reported`() async throws {
        for number in 0..<5 { try folder.write("\(number).jpg", "photo \(number)") }
        let file = folder.url.appendingPathComponent("3.jpg")
        let others = Set((0..<5).filter { $0 != 3 }.map { key("photo \($0)") })
        let s3 = FakeS3 { method, key, _ in
            if method == "PUT", !others.contains(key) { try Data(UUID().uuidString.utf8).write(to: file) }
            return nil
        }
        let report = await backup(to: s3).backUp(folder: folder.url)
        #expect(report.backedUp == 4)
        #expect(report.failures.map(\.file.lastPathComponent) == ["3.jpg"])
        #expect(report.failures.first?.error.code == .unreadableFile)
    }

    @Test func `an unchanged file is not read again`() async throws {
        for number in 0..<6 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3()
        let later = Date().addingTimeInterval(3600)
        let index = try PhotoIndex(at: folder.url.appendingPathComponent(".index"), owner: .test, wallClock: { later })
        _ = await backup(to: s3, index: index).backUp(folder: folder.url)
        // Only who reads it finds out.
        let file = folder.url.appendingPathComponent("2.jpg")
        #expect(await index.digest(of: try FileStamp(path: file.path))?.hexadecimal.isEmpty == false)
        let report = await backup(to: s3, index: index).backUp(folder: folder.url)
        #expect(report == self.report { $0.alreadyThere = 6 })
        // The index alone never counts as being there.
        let empty = FakeS3()
        #expect(await backup(to: empty, index: index).backUp(folder: folder.url).backedUp == 6)
        #expect(await empty.objects.count == 6)
    }

    @Test(arguments: [0, -1]) func `at least one file is under way`(filesAtOnce: Int) async throws {
        try folder.write("a.jpg", "one")
        let report = await backup(to: FakeS3(), filesAtOnce: filesAtOnce).backUp(folder: folder.url)
        #expect(report.backedUp == 1)
        #expect(report.isComplete)
    }

    @Test func `an index that cannot be written keeps no photo from being backed up`() async throws {
        for number in 0..<300 { try folder.write("\(number).jpg", "photo \(number)") }
        let place = folder.url.appendingPathComponent(".index")
        let later = Date().addingTimeInterval(3600)
        let index = try PhotoIndex(at: place, owner: .test, wallClock: { later })
        // As on a full disk, whatever is written to it is refused.
        try SQLiteDatabase(at: place.path).run(script: "DROP TABLE photo")
        let report = await backup(to: FakeS3(), index: index).backUp(folder: folder.url)
        #expect(
            report
                == self.report {
                    $0.backedUp = 300
                    $0.bytesUploaded = 2590
                    $0.indexFailure = report.indexFailure
                })
        #expect(report.isComplete)
        #expect(report.indexFailure?.code == .storeFailed)
        #expect(await index.digest(of: try FileStamp(path: folder.url.appendingPathComponent("299.jpg").path)) == nil)
    }

    @Test func `thumbnails and documents are requested only where S3 has none`() async throws {
        struct Sidecars: PhotoSidecarProvider {
            func thumbnail(of photo: URL) async throws -> Data? { Data("small \(photo.lastPathComponent)".utf8) }
            func metadata(of photo: URL) async throws -> Data? {
                photo.lastPathComponent == "1.jpg" ? Data("{}".utf8) : nil
            }
        }
        for number in 0..<5 { try folder.write("\(number).jpg", "photo \(number)") }
        let s3 = FakeS3()
        let first = await backup(to: s3, sidecars: Sidecars()).backUp(folder: folder.url)
        #expect(first.backedUp == 5)
        let name = MD5.hash(Array("photo 1".utf8)).hexadecimal
        let objects = await s3.objects
        #expect(objects.count == 11)
        #expect(objects["thumbnails/u_1/\(name).jpg"]?.bytes == Data("small 1.jpg".utf8))
        #expect(objects["metadata/u_1/\(name).json"]?.fields["content-type"] == "application/json")
        let before = await s3.lines.count
        _ = await backup(to: s3, sidecars: Sidecars()).backUp(folder: folder.url)
        #expect(!(await s3.lines.dropFirst(before).contains { $0.hasPrefix("PUT") }))
    }

    @Test func `credentials that end in the middle are replaced once, and no file fails`() async throws {
        for number in 0..<40 { try folder.write("\(number).jpg", "photo \(number)") }
        let fake = fake
        let vendor = ShortVendor(fake)
        let s3 = FakeS3 { method, _, request in
            let token = request.fields.first { $0.name == "x-amz-security-token" }?.value ?? ""
            guard let end = Double(token), fake.wallTime.timeIntervalSince1970 < end else {
                return FakeS3.error(400, "ExpiredToken")
            }
            // All of their time has passed when the tenth photo is stored.
            if method == "PUT", await vendor.puts.next() == 10 { fake.pass(.seconds(900)) }
            return nil
        }
        let provider = CredentialProvider(vendor: vendor, runtime: fake.runtime)
        // What is under way has deadlines of its own, which must not pass with the credentials.
        let client = S3BackupClient(
            transport: s3, endpoint: URL(string: "http://127.0.0.1:8333"), journal: InMemoryMultipartJournal(),
            sizes: .init(), runtime: RuntimeDependencies(wallClock: { fake.wallTime })
        ) {
            let vended = try await provider.credentials()
            return .init(bucket: vended.bucket, region: vended.region, source: provider.source)
        }
        let report = await PhotoBackup(client: client, layout: layout).backUp(folder: folder.url)
        #expect(report.isComplete)
        #expect(report.backedUp == 40)
        #expect(await vendor.vended == 2)
    }

    @Test func `a large file is uploaded in parts, and its progress is reported`() async throws {
        let large = Data(repeating: 7, count: 6 << 20) + Data(repeating: 9, count: 5 << 20)
        try folder.write("film.mov", large)
        let s3 = FakeS3()
        let (values, observer) = BackupProgress.stream()
        let report = await backup(to: s3).backUp(folder: folder.url, progress: observer)
        #expect(report.backedUp == 1)
        #expect(await s3.objects["photos/u_1/\(MD5.hash(large).hexadecimal).dat"]?.bytes == large)
        var last: BackupProgress?
        for await value in values {
            last = value
            if value.filesDone == value.filesTotal { break }
        }
        #expect(last?.fraction == 1)
        #expect(last?.bytesDone == 11 << 20)
    }
}

/// Credentials that say themselves when they end, after 900 s.
private actor ShortVendor: CredentialVendor {
    private(set) var vended = 0
    let puts = PutCount()
    private let fake: FakeRuntime

    init(_ fake: FakeRuntime) { self.fake = fake }

    func vendCredentials() -> VendedCredentials {
        vended += 1
        let end = fake.wallTime.addingTimeInterval(900)
        return VendedCredentials(
            accessKeyID: "ASIA\(vended)", secretAccessKey: Secret("secret"),
            sessionToken: Secret("\(end.timeIntervalSince1970)"), expiration: end, region: "us-east-1",
            bucket: FakeS3.bucket)
    }

    actor PutCount {
        private var count = 0

        func next() -> Int {
            count += 1
            return count
        }
    }
}

extension S3BackupClient {
    /// Over a store in memory, with credentials that hold.
    static func over(_ transport: any HTTPTransport, _ fake: FakeRuntime) -> S3BackupClient {
        S3BackupClient(
            transport: transport, endpoint: URL(string: "http://127.0.0.1:8333"), journal: InMemoryMultipartJournal(),
            sizes: Sizes(), runtime: fake.runtime
        ) {
            Access(
                bucket: FakeS3.bucket, region: "us-east-1",
                source: CredentialSource(Credentials(accessKeyID: "AKIA", secretAccessKey: Secret("secret"))))
        }
    }
}
