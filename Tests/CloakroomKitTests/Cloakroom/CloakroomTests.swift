import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct CloakroomTests {
    private let folder: TemporaryFolder
    /// Vends, and has what is read with the credentials.
    private let http = ScriptedHTTP { request, _ in
        guard request.url.path.hasSuffix("sts-token") else {
            guard request.method == "PUT" else {
                return .response(404, [], Data("<Error><Code>NoSuchKey</Code></Error>".utf8))
            }
            let md5 = request.fields.first { $0.name.lowercased() == "content-md5" }
            let bytes = Data(base64Encoded: md5?.value ?? "") ?? Data()
            return .response(200, [("ETag", "\"\(Array(bytes).hexadecimal)\"")])
        }
        let end = Date().addingTimeInterval(3_600).formatted(.iso8601)
        return .json(
            200,
            #"""
            {"credentials":{"accessKeyId":"ASIA0","secretAccessKey":"s","sessionToken":"t","expiration":"\#(end)"},\#
            "region":"eu-central-1","bucket":"photos"}
            """#)
    }

    init() throws { folder = try TemporaryFolder() }

    private func cloakroom(of user: String, _ http: ScriptedHTTP? = nil) throws -> Cloakroom {
        let http = http ?? self.http
        var configuration = Cloakroom.Configuration(
            endpoint: try #require(URL(string: "https://api.example")), transport: http, backgroundTransport: http)
        configuration.folder = folder.url.appendingPathComponent("state")
        configuration.assetBaseURLs = [try #require(URL(string: "https://cdn.example"))]
        return try Cloakroom(configuration: configuration, user: user) { "token" }
    }

    @Test func `making one sends nothing`() async throws {
        _ = try cloakroom(of: "u_1")
        #expect(await http.lines == [])
    }

    @Test func `credentials survive a restart, and only for their user`() async throws {
        let first = try cloakroom(of: "u_1")
        _ = try await first.credentials.credentials()
        // It is written after callers have theirs.
        let file = first.folder.appendingPathComponent("credentials/credentials.sealed").path
        try await until { FileManager.default.fileExists(atPath: file) }
        _ = try await cloakroom(of: "u_1").credentials.credentials()
        #expect(await http.lines.count == 1)
        _ = try await cloakroom(of: "u_2").credentials.credentials()
        #expect(await http.lines.count == 2)
    }

    @Test func `each user has a folder that nobody else can enter`() throws {
        let first = try cloakroom(of: "u_1")
        let second = try cloakroom(of: "u_2")
        #expect(first.folder != second.folder)
        #expect(try cloakroom(of: "u_1").folder == first.folder)
        for folder in [first.folder, second.folder] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            #expect(!folder.path.contains("u_1") && !folder.path.contains("u_2"))
        }
    }

    @Test func `a photo is backed up to the user's folder`() async throws {
        let photo = try folder.write("pictures/a.heic", Data("a photo".utf8))
        let report = try await cloakroom(of: "u_1").backup.backUp([photo])
        #expect(report.failures == [] && report.stoppedBy == nil)
        let put = try #require(await http.sent.first { $0.request.method == "PUT" })
        #expect(put.request.url.path.contains("photos/u_1/"))
    }

    @Test func `a source of photos has files of its own`() async throws {
        try folder.write("pictures/a.heic", Data("a photo".utf8))
        let cloakroom = try cloakroom(of: "u_1")
        let source = FolderPhotoSource(folder.url.appendingPathComponent("pictures"))
        _ = try cloakroom.backup(of: source)
        _ = try cloakroom.backup(of: source, named: "scans")
        let names = try FileManager.default.contentsOfDirectory(atPath: cloakroom.folder.path)
        #expect(names.contains("source-library.sqlite") && names.contains("source-scans.sqlite"))
        #expect {
            try cloakroom.backup(of: source, named: "../scans")
        } throws: { ($0 as? CloakroomError)?.code == .invalidRequest }
    }

    @Test func `a name that no user has is refused`() {
        #expect {
            try cloakroom(of: "../u_2")
        } throws: { ($0 as? CloakroomError)?.code == .invalidRequest }
    }

    @Test func `images are renewed by the configuration's base URLs`() async throws {
        let http = ScriptedHTTP(.json(200, #"{"renewed":1,"failed":0,"results":[{"key":"a.bin","success":true}]}"#))
        let url = try #require(URL(string: "https://cdn.example/a.bin"))
        let renewals = try cloakroom(of: "u_1", http).renewals(
            of: AssetCollection([.groupImage(url: url, conversationID: "c")]))
        let report = await renewals.renewIfNeeded()
        #expect(report.renewed == 1)
        #expect(await http.lines.count == 1)
    }
}
