import CloakroomKit
import Foundation

#if os(Linux)
    import CloakroomCurlTransport

    private typealias Transport = CurlTransport
#else
    private typealias Transport = URLSessionTransport
#endif

/// Does what the bars of the kit measure, once; the server counts the requests, the system the CPU time.
@main struct KitBench {
    private static let usage = """
        usage: kit-bench callers ENDPOINT          1,000 callers of credentials that have ended
               kit-bench sessions ENDPOINT         1,000 callers of a session that is about to end
               kit-bench renewals ENDPOINT STORE   10,000 assets, none renewed before; STORE is a new file
               kit-bench backup S3 INDEX FOLDER    the files of FOLDER, by an index in the file INDEX
        """

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst().map { $0 }
        do {
            guard arguments.count > 1, let endpoint = URL(string: arguments[1]) else { throw BenchError(why: usage) }
            let client = CloakroomClient(endpoint: endpoint, transport: Transport()) { "token" }
            switch (arguments[0], arguments.count) {
            case ("callers", 2): try await ask(CredentialProvider(vendor: client))
            case ("sessions", 2):
                try await ask(SessionTokenProvider(endpoint: endpoint, transport: Transport()))
            case ("renewals", 3): try await renew(with: client, URL(fileURLWithPath: arguments[2]))
            case ("backup", 4):
                try await backUp(
                    to: endpoint, by: URL(fileURLWithPath: arguments[2]), folder: URL(fileURLWithPath: arguments[3]))
            default: throw BenchError(why: usage)
            }
        } catch {
            FileHandle.standardError.write(Data("kit-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func ask(_ provider: CredentialProvider) async throws {
        let first = try await provider.credentials()
        // The server gives the first ones two seconds, of which it counts whole ones.
        try await Task.sleep(for: .seconds(max(0, first.expiration.timeIntervalSinceNow) + 1))
        let later = try await withThrowingTaskGroup(of: VendedCredentials.self) { group in
            for _ in 0..<1000 { group.addTask { try await provider.credentials() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        guard later.allSatisfy({ $0 == later[0] && $0 != first && $0.expiration > Date() }) else {
            throw BenchError(why: "the callers did not all get the same new credentials")
        }
    }

    private static func ask(_ session: SessionTokenProvider) async throws {
        try await session.signIn(with: SignInIdentity(token: "identity"))
        // The server gives this one ten seconds: from half of them on callers wait for the next.
        try await Task.sleep(for: .seconds(7))
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await session.token() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        guard Set(tokens).count == 1, tokens.first != "session1" else {
            throw BenchError(why: "the callers did not all get the same new token")
        }
    }

    private static func renew(with client: CloakroomClient, _ store: URL) async throws {
        let owner = StoreOwner(user: "bench", endpoint: store)
        let base = URL(string: "https://assets.example.com/")
        let assets = (0..<10_000).compactMap { number in
            URL(string: "https://assets.example.com/asset\(number).bin").map {
                RenewableAsset.groupImage(url: $0, conversationID: "conversation\(number)")
            }
        }
        let manager = AssetRenewalManager(
            renewer: client, collector: AssetCollection(assets), store: try SQLiteRenewalStore(at: store, owner: owner),
            baseURLs: try AssetBaseURLs([base].compactMap { $0 }))
        let report = await manager.renewIfNeeded()
        guard report.renewed == 10_000, report.unrecorded == 0 else { throw BenchError(why: "\(report)") }
    }

    private static func backUp(to s3: URL, by index: URL, folder: URL) async throws {
        let owner = StoreOwner(user: "u_1", endpoint: s3)
        let backup = PhotoBackup(
            client: S3BackupClient(
                credentials: CredentialProvider(vendor: Credentials()), transport: Transport(), endpoint: s3),
            layout: try PhotoLayout(userID: "u_1"), index: try PhotoIndex(at: index, owner: owner))
        // An index keeps no digest of a file that was written this moment.
        try await Task.sleep(for: .seconds(2.5))
        let report = await backup.backUp(folder: folder)
        guard report.isComplete, report.indexFailure == nil else { throw BenchError(why: "\(report)") }
    }

    private struct Credentials: CredentialVendor {
        func vendCredentials() async throws -> VendedCredentials {
            VendedCredentials(
                accessKeyID: "ASIAIOSFODNN7EXAMPLE", secretAccessKey: "secret", sessionToken: "token",
                expiration: Date().addingTimeInterval(3_600), region: "us-east-1", bucket: "photos")
        }
    }

    private struct BenchError: Error, CustomStringConvertible {
        let why: String
        var description: String { why }
    }
}
