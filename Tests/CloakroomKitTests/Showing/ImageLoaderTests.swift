import CloakroomAWS
import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ImageLoaderTests {
    private let bench: BackupBench
    private let folder: TemporaryFolder
    private let photo = numbered(40)
    private let serverClock: ServerClock
    private var md5: String { MD5.hash(photo).hexadecimal }
    private static let link = "https://cdn.example/chat/a.bin"
    private var chat: ImageSource { .chatImage(link: Self.link, expiration: bench.fake.time(in: .seconds(3600))) }

    init() throws {
        bench = try BackupBench()
        serverClock = ServerClock(runtime: bench.fake.runtime)
        folder = try TemporaryFolder()
    }

    private func loader(
        _ http: ScriptedHTTP = ScriptedHTTP(), owner: StoreOwner = .test, maximumCacheBytes: Int64 = 1000,
        hasEnded: (@Sendable (String) async throws -> Bool)? = nil
    ) throws -> ImageLoader {
        try ImageLoader(
            folder: folder.url, owner: owner, client: bench.client(), layout: try PhotoLayout(userID: "u_1"),
            transport: http,
            baseURLs: try AssetBaseURLs([Self.url("https://cdn.example"), Self.url("https://s3.example/bucket")]),
            settings: ImageLoaderSettings(maximumCacheBytes: maximumCacheBytes, maximumImageBytes: 500),
            serverClock: serverClock, runtime: bench.fake.runtime, hasEnded: hasEnded)
    }

    /// The worker says what time it is.
    private func learn(_ date: Date) async {
        await serverClock.learn(
            from: HTTPResponse(status: 200, fields: [("Date", Timestamp(date).http)]), sent: bench.fake.now)
    }

    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private static func images(_ bytes: Data = Data("image".utf8)) -> ScriptedHTTP {
        ScriptedHTTP { _, _ in .response(200, [], bytes) }
    }

    /// Files of the cache, of all users.
    private func files() throws -> [URL] {
        let found = FileManager.default.enumerator(at: folder.url, includingPropertiesForKeys: nil)
        return (found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath && $0.pathExtension != "" }
    }

    private func code(_ body: () async throws -> some Any) async -> CloakroomError.Code? { await bench.code(body) }

    @Test func `a photo and a thumbnail are read once, and then from the cache, also after a restart`() async throws {
        await bench.s3.store("photos/u_1/\(md5).dat", photo)
        await bench.s3.store("thumbnails/u_1/\(md5).jpg", Data("small".utf8))
        let images = try loader()
        #expect(try await images.data(for: .photo(md5: md5)) == photo)
        #expect(try await images.data(for: .thumbnail(md5: md5)) == Data("small".utf8))
        let requests = await bench.http.sent.count
        await bench.s3.delete("photos/u_1/\(md5).dat")
        for images in [images, try loader()] {
            #expect(try await images.data(for: .photo(md5: md5)) == photo)
            #expect(try await Data(contentsOf: images.file(for: .thumbnail(md5: md5))) == Data("small".utf8))
            #expect(await images.cachedBytes == 45)
        }
        #expect(await bench.http.sent.count == requests)
        for file in try files() {
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(!file.lastPathComponent.contains("u_1"))
        }
    }

    @Test func `an image that ends while it is loaded is neither shown nor cached`() async throws {
        let looks = Log<String>()
        let images = try loader(Self.images()) { key in
            looks.append(key)
            return looks.all.count > 1
        }
        #expect(await code { try await images.data(for: chat) } == .noSuchObject)
        #expect(looks.all == ["chat/a.bin", "chat/a.bin"])
        #expect(await images.cachedBytes == 0)
        #expect(try files() == [])
    }

    @Test func `a photo with other bytes than its name says is not shown`() async throws {
        await bench.s3.store("photos/u_1/\(md5).dat", Data("other".utf8))
        let images = try loader()
        #expect(await code { try await images.data(for: .photo(md5: md5)) } == .checksumMismatch)
        #expect(try files() == [])
    }

    @Test(arguments: [Data("imagE".utf8), Data("ima".utf8), Data("image and more".utf8), Data()])
    func `a file that was damaged is loaded again`(bytes: Data) async throws {
        let http = Self.images()
        let images = try loader(http)
        let file = try await images.file(for: chat)
        try bytes.write(to: file)
        #expect(try await images.data(for: chat) == Data("image".utf8))
        #expect(await http.sent.count == 2)
        #expect(try Data(contentsOf: file) == Data("image".utf8))
    }

    @Test func `what a killed write left is removed, and what is not of the cache, too`() async throws {
        let http = Self.images()
        let file = try await loader(http).file(for: chat)
        let remains = file.deletingLastPathComponent().appendingPathComponent(".partial-7")
        try Data("ima".utf8).write(to: remains)
        let stranger = file.deletingLastPathComponent().appendingPathComponent("a.jpg")
        try Data("b".utf8).write(to: stranger)
        #expect(try await loader(http).data(for: chat) == Data("image".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path).count == 1)
        #expect(await http.sent.count == 1)
    }

    @Test func `callers of one image share a request, and one that leaves does not end it`() async throws {
        let gate = Gate()
        let http = ScriptedHTTP(.held(gate, .response(200, [], Data("image".utf8))))
        let images = try loader(http)
        let other = try ImageSource.url(Self.url("https://s3.example/bucket/chat/a.bin"))
        let tasks = [chat, chat, other].map { source in Task { try await images.data(for: source) } }
        while try await images.waiterCount(for: chat) < 3 { await Task.yield() }
        tasks[0].cancel()
        #expect(await code { try await tasks[0].value } == .cancelled)
        await gate.open()
        #expect(try await tasks[1].value == Data("image".utf8))
        #expect(try await tasks[2].value == Data("image".utf8))
        #expect(await http.sent.count == 1)
    }

    @Test func `a request that nobody waits for any more is cancelled`() async throws {
        let http = ScriptedHTTP(.hang, .response(200, [], Data("image".utf8)))
        let images = try loader(http)
        let task = Task { try await images.data(for: chat) }
        await http.arrival(of: 1)
        task.cancel()
        #expect(await code { try await task.value } == .cancelled)
        #expect(try await images.data(for: chat) == Data("image".utf8))
    }

    @Test func `an image of a chat is not shown after its end, from the cache or from anywhere`() async throws {
        let http = Self.images()
        let images = try loader(http)
        let (chat, end) = (chat, bench.fake.time(in: .seconds(3600)))
        await learn(bench.fake.wallTime)
        _ = try await images.data(for: chat)
        bench.fake.pass(.seconds(3601))
        #expect(await code { try await images.data(for: chat) } == .noSuchObject)
        #expect(try files().map(\.pathExtension) == ["ended"])
        // Not under another name, with another clock or after a restart either.
        bench.fake.setWallClock(ahead: .seconds(-86_400))
        let other = ImageSource.chatImage(link: "https://s3.example/bucket/chat/a.bin", expiration: end)
        #expect(await code { try await loader(http).data(for: other) } == .noSuchObject)
        #expect(await code { try await loader(http).data(for: chat) } == .noSuchObject)
        #expect(await http.sent.count == 1)
    }

    @Test func `an image ends by the server's clock, and is hidden by the device's only for as long as that shows`()
        async throws
    {
        let date = bench.fake.wallTime
        let source = ImageSource.chatImage(link: Self.link, expiration: bench.fake.time(in: .seconds(43_200)))
        let images = try loader(Self.images())
        #expect(try await images.data(for: source) == Data("image".utf8))
        bench.fake.setWallClock(ahead: .seconds(86_400))
        #expect(await code { try await images.data(for: source) } == .noSuchObject)
        #expect(try files() == [])
        await learn(date)
        #expect(try await images.data(for: source) == Data("image".utf8))
        #expect(await images.cachedBytes == 5)
        bench.fake.pass(.seconds(43_202))
        bench.fake.setWallClock(ahead: .seconds(-86_400))
        #expect(await code { try await images.data(for: source) } == .noSuchObject)
        #expect(try files().map(\.pathExtension) == ["ended"])
    }

    @Test func `bytes leave the cache at the end that a later caller knows`() async throws {
        let http = Self.images()
        let chat = chat
        let images = try loader(http)
        _ = try await images.data(for: .url(Self.url(Self.link)))
        _ = try await images.file(for: chat)
        await learn(bench.fake.wallTime)
        bench.fake.pass(.seconds(3601))
        #expect(await code { try await images.data(for: chat) } == .noSuchObject)
        #expect(try files().map(\.pathExtension) == ["ended"])
    }

    @Test(arguments: [-3600, 60]) func `a message that names an image with a wrong end hides it from no other`(
        seconds: Int
    ) async throws {
        let http = Self.images()
        let images = try loader(http)
        let avatar = try ImageSource.url(Self.url(Self.link))
        await learn(bench.fake.wallTime)
        _ = try await images.data(for: avatar)
        let forged = ImageSource.chatImage(link: Self.link, expiration: bench.fake.time(in: .seconds(seconds)))
        _ = try? await images.data(for: forged)
        bench.fake.pass(.seconds(120))
        #expect(await code { try await images.data(for: forged) } == .noSuchObject)
        for images in [images, try loader(http)] {
            #expect(try await images.data(for: avatar) == Data("image".utf8))
            #expect(try await images.data(for: chat) == Data("image".utf8))
        }
    }

    @Test func `a released image is removed, and not loaded again`() async throws {
        let http = Self.images()
        let images = try loader(http)
        _ = try await images.data(for: chat)
        let releaser = images.releasing(by: FailingReleaser())
        await #expect(throws: CloakroomError.self) {
            try await releaser.release([ImageRelease(objectKey: "chat/a.bin", releaseToken: "t")])
        }
        #expect(await code { try await images.data(for: chat) } == .noSuchObject)
        #expect(await code { try await loader(http).data(for: chat) } == .noSuchObject)
        #expect(try files().map(\.pathExtension) == ["discarded"])
        #expect(await http.sent.count == 1)
    }

    @Test func `a request on its way is ended when its image is discarded`() async throws {
        let http = ScriptedHTTP(.hang)
        let images = try loader(http)
        let task = Task { try await images.data(for: chat) }
        await http.arrival(of: 1)
        await images.discard(objectKeys: ["chat/a.bin"])
        #expect(await code { try await task.value } == .noSuchObject)
    }

    @Test func `an image is not shown when its messages have ended, or that is not known`() async throws {
        let unknown = CloakroomError(.storeFailed, "locked")
        // Before and after each request.
        let answers = ScriptedAnswers([
            .success(false), .success(false), .failure(unknown), .success(true), .success(false), .success(false),
        ])
        let http = Self.images()
        let images = try loader(http) { key in
            #expect(key == "chat/a.bin")
            return try await answers.next()
        }
        #expect(try await images.data(for: chat) == Data("image".utf8))
        #expect(await code { try await images.data(for: chat) } == .storeFailed)
        #expect(await code { try await images.data(for: chat) } == .noSuchObject)
        #expect(try files() == [])
        // A new message names it.
        #expect(try await images.data(for: chat) == Data("image".utf8))
        #expect(await http.sent.count == 2)
    }

    @Test(arguments: [(404, CloakroomError.Code.noSuchObject), (403, .accessDenied)])
    func `a refusal is remembered for a minute`(status: Int, code: CloakroomError.Code) async throws {
        let http = ScriptedHTTP(.response(status), .response(200, [], Data("image".utf8)))
        let images = try loader(http)
        for _ in 0..<3 { #expect(await self.code { try await images.data(for: chat) } == code) }
        #expect(await http.sent.count == 1)
        bench.fake.pass(.seconds(60))
        #expect(try await images.data(for: chat) == Data("image".utf8))
    }

    @Test func `a failure of the network is not remembered`() async throws {
        let http = ScriptedHTTP(.failure(.unreachable), .response(503), .response(200, [], Data("image".utf8)))
        let images = try loader(http)
        #expect(await code { try await images.data(for: chat) } == .unreachable)
        #expect(await code { try await images.data(for: chat) } == .unavailable)
        #expect(try await images.data(for: chat) == Data("image".utf8))
    }

    @Test func `the cache is bounded, and what was shown last stays`() async throws {
        let http = ScriptedHTTP { _, _ in .response(200, [], numbered(300)) }
        let images = try loader(http)
        func source(_ name: Int) throws -> ImageSource { .url(try Self.url("https://other.example/\(name)")) }
        for name in 0..<3 {
            _ = try await images.data(for: source(name))
            bench.fake.pass(.seconds(10))
        }
        _ = try await images.data(for: source(0))
        #expect(await images.cachedBytes == 900)
        _ = try await images.data(for: source(3))
        #expect(await images.cachedBytes == 900)
        #expect(try files().count == 3)
        _ = try await images.data(for: source(0))
        #expect(await http.sent.count == 4)
        _ = try await images.data(for: source(1))
        #expect(await http.sent.count == 5)
        // A smaller limit holds from the start.
        #expect(try await loader(http, maximumCacheBytes: 700).cachedBytes == 600)
        #expect(try files().count == 2)
    }

    @Test func `an image is shown when it cannot be cached`() async throws {
        let images = try loader(Self.images(), maximumCacheBytes: 4)
        #expect(try await images.data(for: chat) == Data("image".utf8))
        #expect(await code { try await images.file(for: chat) } == .bodyTooLarge)
        #expect(try files() == [])
        // No file can be made where the folder is gone.
        let other = try loader(Self.images())
        try FileManager.default.removeItem(at: folder.url)
        #expect(try await other.data(for: chat) == Data("image".utf8))
        #expect(await code { try await other.file(for: chat) } == .storeFailed)
    }

    @Test func `signing out leaves nothing, and ends what is on its way`() async throws {
        let http = ScriptedHTTP(.response(200, [], Data("image".utf8)), .hang)
        let images = try loader(http)
        _ = try await images.data(for: chat)
        let task = Task { try await images.data(for: .url(Self.url("https://other.example/b"))) }
        await http.arrival(of: 2)
        await images.removeAll()
        #expect(await code { try await task.value } == .cancelled)
        #expect(try files() == [])
        #expect(await images.cachedBytes == 0)
    }

    @Test func `a removed image is loaded anew, and one on its way is not cached`() async throws {
        let gate = Gate()
        let image = ScriptedHTTP.Step.response(200, [], Data("image".utf8))
        let http = ScriptedHTTP(image, .held(gate, image))
        let images = try loader(http)
        _ = try await images.data(for: chat)
        await images.remove(chat)
        #expect(try files() == [])
        let task = Task { try await images.data(for: chat) }
        await http.arrival(of: 2)
        await images.remove(chat)
        await gate.open()
        #expect(try await task.value == Data("image".utf8))
        #expect(try files() == [])
    }

    @Test func `users see nothing of each other's caches`() async throws {
        let http = Self.images()
        _ = try await loader(http).data(for: chat)
        let other = StoreOwner(user: "u_2", endpoint: try Self.url("https://api.example"))
        _ = try await loader(http, owner: other).data(for: chat)
        #expect(await http.sent.count == 2)
        try await loader(http, owner: other).removeAll()
        #expect(try files().count == 1)
    }

    @Test(arguments: [
        "", "no url", "ftp://a.example/b", "http://cdn.example/a.bin", "https://u@cdn.example/a", "file:///a",
    ])
    func `a link that is no https URL is refused`(link: String) async throws {
        let images = try loader()
        let source = ImageSource.chatImage(link: link, expiration: .distantFuture)
        #expect(await code { try await images.data(for: source) } == .invalidRequest)
    }

    @Test func `no description or error has a link`() async throws {
        var dumped = ""
        dump(chat, to: &dumped)
        #expect(!"\(chat) \(String(reflecting: chat)) \(dumped)".contains("cdn.example"))
        let images = try loader(ScriptedHTTP(.response(500)))
        let error = await #expect(throws: CloakroomError.self) { try await images.data(for: chat) }
        #expect("\(try #require(error))".contains("cdn.example") == false)
    }
}

private struct FailingReleaser: ImageReleaser {
    func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult] {
        throw CloakroomError(.unreachable, "nobody there")
    }
}

private actor ScriptedAnswers {
    private var answers: [Result<Bool, CloakroomError>]

    init(_ answers: [Result<Bool, CloakroomError>]) { self.answers = answers }

    func next() throws -> Bool { try answers.removeFirst().get() }
}
