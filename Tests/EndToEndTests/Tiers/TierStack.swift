import CloakroomCrypto
import CloakroomKit
import CloakroomTiers
import Foundation

/// A worker that vends credentials for `catalogs/` too, and a cold tier of one of its users.
struct TierStack: Sendable {
    let endpoint: String
    let bucket: String
    let layout: PhotoLayout
    let transport: CountingTransport
    let client: S3BackupClient
    let tier: S3ColdTier
    /// Stores an object under a key of anybody.
    let putAsOperator: @Sendable (String) throws -> Void
    private let path: String

    /// - Parameter name: also of the user.
    static func onSeaweedFS(_ name: String, _ body: (TierStack) async throws -> Void) async throws {
        let options = Stack.Options(nginx: true, s3: true, settings: vendCatalogs)
        try await Stack.run(name, options) { stack in
            let s3 = try EndToEnd.s3()
            try await body(
                TierStack(stack, name, endpoint: s3.url, bucket: SeaweedFS.bucket) { try s3.put($0) })
        }
    }

    static func onCeph(_ name: String, _ body: (TierStack) async throws -> Void) async throws {
        let ceph = try EndToEnd.ceph()
        try await Stack.run(name, ceph.options(nginx: true, vendCatalogs)) { stack in
            try await body(
                TierStack(stack, name, endpoint: ceph.url, bucket: ceph.bucket) {
                    guard try ceph.ask("PUT", "/\($0)", body: "bytes").status == 200 else {
                        throw MissingProgramError(description: "PUT \($0)")
                    }
                })
        }
    }

    private static func vendCatalogs(_ settings: inout TestSettings) {
        settings["vending.prefixes"] = ["photos", "thumbnails", "metadata", "catalogs"]
    }

    private init(
        _ stack: Stack, _ name: String, endpoint: String, bucket: String,
        putAsOperator: @escaping @Sendable (String) throws -> Void
    ) throws {
        let user = name.replacing("-", with: "_")
        let kit = try Kit(stack, token: Tokens.token(user: user, device: user, tier: "free"), s3: endpoint)
        self.endpoint = endpoint
        self.bucket = bucket
        self.putAsOperator = putAsOperator
        path = stack.folder
        layout = try PhotoLayout(userID: user)
        transport = CountingTransport(kit.transport)
        client = S3BackupClient(
            credentials: CredentialProvider(vendor: kit.client), transport: transport, endpoint: try Kit.url(endpoint))
        tier = S3ColdTier(client: client, layout: layout)
    }

    func url(_ name: String) -> URL { URL(fileURLWithPath: "\(path)/\(name)") }

    func folder(_ name: String) throws -> URL {
        try FileManager.default.createDirectory(at: url(name), withIntermediateDirectories: false)
        return url(name)
    }

    /// A photo of so many bytes, others for another number, and its file.
    func photo(_ count: Int, in folder: URL? = nil) throws -> (photo: PhotoDescriptor, file: URL) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 7 ^ $0 >> 15 ^ count) }
        let file = (folder ?? url("")).appendingPathComponent("\(count).jpg")
        try Data(bytes).write(to: file)
        let photo = PhotoDescriptor(
            sha256: SHA256.hash(bytes), md5: MD5.hash(bytes), byteCount: Int64(count), format: "jpg")
        return (photo, file)
    }

    func key(_ photo: PhotoDescriptor) throws -> String { try layout.ofTiers.photo(md5: photo.md5.hexadecimal) }
}

/// Notes the methods of the requests that pass.
actor CountingTransport: HTTPTransport {
    private(set) var methods: [String] = []
    private let next: any HTTPTransport

    init(_ next: any HTTPTransport) { self.next = next }

    func forget() { methods = [] }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        methods.append(request.method)
        return try await next.send(request, progress: progress)
    }
}
