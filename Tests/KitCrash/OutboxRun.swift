import CloakroomAWS
import CloakroomKit
import Foundation

extension KitCrash {
    /// One launch of an app that shares the files of `in/` and deletes each as soon as it was added: `photo-…` as a photo,
    /// others as assets; then it sends, and writes down what was uploaded, in `urls.txt`.
    static func runOutbox(in folder: Folder) async throws {
        let points = folder.points
        let date = folder.date
        let store = FolderS3(folder)
        let s3 = S3BackupClient(
            credentials: CredentialProvider(vendor: FolderVendor()), transport: store,
            endpoint: URL(string: "http://s3.example")!)
        var options = Outbox.Options()
        options.transfersAtOnce = 1
        let outbox = try Outbox(
            folder: folder.url.appendingPathComponent("outbox"), owner: folder.owner, photos: s3, assets: folder,
            carrier: TransportCarrier(transport: store), options: options,
            runtime: RuntimeDependencies(wallClock: { date }), onStep: { _ in await points.cross() })
        let input = folder.url.appendingPathComponent("in")
        for name in try FileManager.default.contentsOfDirectory(atPath: input.path).sorted() {
            let file = input.appendingPathComponent(name)
            if name.hasPrefix("photo-") {
                try await outbox.add(photo: file)
            } else {
                try await outbox.add(
                    asset: try UploadContent(contentsOf: file, contentType: "image/jpeg"), reference: name)
            }
            try FileManager.default.removeItem(at: file)
            await points.cross()
        }
        print(await outbox.run())
        for asset in try await outbox.uploadedAssets() {
            try folder.append("\(asset.reference) \(asset.objectKey)", to: "urls.txt")
            await points.cross()
            try await outbox.acknowledge(asset.id)
            await points.cross()
        }
    }
}

/// S3 over HTTP, with the folder's objects. A line of `created.txt` for each that was stored, and of `asked.txt` for each
/// request.
struct FolderS3: HTTPTransport {
    let folder: Folder

    init(_ folder: Folder) { self.folder = folder }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        await folder.points.cross()
        let key = String(request.url.path.dropFirst()).replacingOccurrences(of: "bucket/", with: "")
            .replacingOccurrences(of: "/", with: "_")
        do {
            let response = try await response(request, key)
            await folder.points.cross()
            return response
        } catch {
            throw .interrupted
        }
    }

    private func response(_ request: HTTPRequest, _ key: String) async throws -> HTTPResponse {
        let object = folder.object(key)
        switch request.method {
        case "PUT":
            if folder.hasObject(key) { return Self.error(412, "PreconditionFailed") }
            guard case .file(let file, let range) = request.body else { throw CloakroomError(.unknown, "no file") }
            let bytes = try Data(contentsOf: file)
            guard Int64(bytes.count) == range.upperBound else { throw CloakroomError(.unknown, "other bytes") }
            let part = folder.url.appendingPathComponent("part")
            try bytes.write(to: part)
            await folder.points.cross()
            try FileManager.default.moveItem(at: part, to: object)
            try folder.append(key, to: "created.txt")
            return HTTPResponse(status: 200)
        case "HEAD":
            guard let bytes = try? Data(contentsOf: object) else { return HTTPResponse(status: 404) }
            return HTTPResponse(
                status: 200,
                fields: [
                    ("Content-Length", String(bytes.count)), ("ETag", "\"0\""),
                    ("Last-Modified", "Fri, 20 Nov 2026 14:00:00 GMT"),
                ])
        case "GET" where !folder.hasObject(key): return Self.error(404, "NoSuchKey")
        default: return Self.error(405, "MethodNotAllowed")
        }
    }

    private static func error(_ status: Int, _ code: String) -> HTTPResponse {
        HTTPResponse(status: status, body: Data("<Error><Code>\(code)</Code><Message>no</Message></Error>".utf8))
    }
}

private struct FolderVendor: CredentialVendor {
    func vendCredentials() async throws -> VendedCredentials {
        VendedCredentials(
            accessKeyID: "AKID", secretAccessKey: "secret", sessionToken: "token",
            expiration: Date(timeIntervalSinceNow: 3600), region: "eu-west-1", bucket: "bucket")
    }
}

extension Folder {
    nonisolated func append(_ line: String, to name: String) throws {
        let handle = try FileHandle(forWritingTo: url.appendingPathComponent(name))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("\(line)\n".utf8))
        try handle.close()
    }
}
