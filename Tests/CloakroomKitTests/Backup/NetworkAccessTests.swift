import Foundation
import Testing

@testable import CloakroomKit

@Suite struct NetworkAccessTests {
    @Test func `backups use networks that cost nothing, and renewals any, unless the app says otherwise`() throws {
        let client = CloakroomClient(endpoint: try #require(URL(string: "https://api.example"))) { "" }
        let renewals = try #require(client.httpClient.transport as? URLSessionTransport)
        #expect(renewals.networkAccess == .unrestricted)
        let credentials = CredentialProvider(vendor: client)
        let backups = try #require(S3BackupClient(credentials: credentials).transport as? URLSessionTransport)
        #expect(backups.networkAccess == .inexpensive)
        let allowed = S3BackupClient(credentials: credentials, transport: renewals)
        #expect(allowed.transport as? URLSessionTransport === renewals)
    }

    @Test func `a backup that may not use the network says so, and sends nothing more`() async throws {
        let folder = try TemporaryFolder()
        let s3 = FakeS3 { _, _, _ in throw HTTPTransportError.notAllowedNow }
        let files = try (0..<3).map { try folder.write("\($0).jpg", "new \($0)") }
        var options = PhotoBackup.Options()
        options.filesAtOnce = 1
        let backup = PhotoBackup(
            client: .over(s3, FakeRuntime()), layout: try PhotoLayout(userID: "u_1"), options: options)
        let report = await backup.backUp(files)
        #expect(report.stoppedBy?.code == .notAllowedNow)
        #expect(await s3.lines.count == 1)
    }
}
