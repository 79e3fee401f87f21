import CloakroomKitTesting

@testable import CloakroomKit

extension CloakroomClient {
    /// Of the user `u_1`, with the server's time.
    static func of(_ server: TestServer, tokens: (any TokenProvider)? = nil) -> CloakroomClient {
        CloakroomClient(
            endpoint: server.endpoint, tokens: tokens ?? server.tokens(forUser: "u_1"), transport: server.transport,
            runtime: server.runtime)
    }
}

extension S3BackupClient {
    /// Of the user `u_1`, with credentials that the server vends, and its time.
    static func of(_ server: TestServer, tokens: (any TokenProvider)? = nil) -> S3BackupClient {
        let client = CloakroomClient.of(server, tokens: tokens)
        let credentials = CredentialProvider(
            vendor: client, serverClock: client.serverClock, runtime: server.runtime)
        return S3BackupClient(
            credentials: credentials, transport: server.transport, endpoint: server.s3Endpoint,
            journal: InMemoryMultipartJournal(), runtime: server.runtime)
    }
}
