import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
import Foundation

extension KitCrash {
    /// One launch of an app that shares the files of `in/` and deletes each as soon as it was added: `photo-…` as a photo,
    /// `chat-…` as an image of a chat, others as assets; then it sends, and writes down what was uploaded, in `urls.txt`.
    static func runOutbox(in folder: Folder) async throws {
        let points = folder.points
        let date = folder.date
        let store = FolderS3(folder)
        let s3 = S3BackupClient(
            credentials: CredentialProvider(vendor: FolderVendor()), transport: store,
            endpoint: URL(string: "http://s3.example")!,
            journal: try SQLiteMultipartJournal(
                at: folder.url.appendingPathComponent("uploads.sqlite"), owner: folder.owner))
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
                    asset: try UploadContent(contentsOf: file, contentType: "image/jpeg"), reference: name,
                    isChatImage: name.hasPrefix("chat-"))
            }
            try FileManager.default.removeItem(at: file)
            await points.cross()
        }
        print(await outbox.run())
        for asset in try await outbox.uploadedAssets() {
            let token = asset.releaseToken.map { " \($0)" } ?? ""
            try folder.append("\(asset.reference) \(asset.objectKey)\(token)", to: "urls.txt")
            await points.cross()
            try await outbox.acknowledge(asset.id)
            await points.cross()
        }
    }
}

/// S3 over HTTP, with the folder's objects.
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
        let query = request.url.query ?? ""
        switch request.method {
        case "PUT" where query.contains("partNumber="):
            let bytes = try Self.bytes(of: request.body)
            try bytes.write(to: part(query), options: .atomic)
            return HTTPResponse(status: 200, fields: [("ETag", Self.tag(bytes))])
        case "PUT":
            if folder.hasObject(key) { return Self.error(412, "PreconditionFailed") }
            let part = folder.url.appendingPathComponent("part")
            try Self.bytes(of: request.body).write(to: part)
            await folder.points.cross()
            try FileManager.default.moveItem(at: part, to: object)
            return HTTPResponse(status: 200, fields: [("ETag", Self.tag(try Self.bytes(of: request.body)))])
        case "POST" where query.hasPrefix("uploads"):
            return Self.xml(
                "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
        case "POST":
            if folder.hasObject(key) { return Self.error(412, "PreconditionFailed") }
            let bytes = try parts().map { try Data(contentsOf: $0) }
            await folder.points.cross()
            try Data(bytes.joined()).write(to: object, options: .atomic)
            return Self.xml("<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
        case "GET" where query.contains("uploadId="):
            let parts = try parts().enumerated().map { number, file in
                let bytes = try Data(contentsOf: file)
                return "<Part><PartNumber>\(file.lastPathComponent.dropFirst(5))</PartNumber><ETag>\(Self.tag(bytes))"
                    + "</ETag><Size>\(bytes.count)</Size></Part>"
            }
            return Self.xml(
                "<ListPartsResult><IsTruncated>false</IsTruncated>\(parts.joined())</ListPartsResult>")
        case "HEAD":
            guard let bytes = try? Data(contentsOf: object) else { return HTTPResponse(status: 404) }
            return HTTPResponse(
                status: 200,
                fields: [
                    ("Content-Length", String(bytes.count)), ("ETag", Self.tag(bytes)),
                    ("Last-Modified", "Fri, 20 Nov 2026 14:00:00 GMT"),
                ])
        case "GET" where !folder.hasObject(key): return Self.error(404, "NoSuchKey")
        default: return Self.error(405, "MethodNotAllowed")
        }
    }

    private func part(_ query: String) -> URL {
        let number = query.split(separator: "&").first { $0.hasPrefix("partNumber=") }?.dropFirst(11) ?? ""
        return folder.url.appendingPathComponent("part-\(number)")
    }

    private func parts() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix("part-") }.sorted()
            .map { folder.url.appendingPathComponent($0) }
    }

    private static func bytes(of body: HTTPBody) throws -> Data {
        switch body {
        case .none: return Data()
        case .bytes(let data): return data
        case .file(let file, let range):
            let bytes = try Data(contentsOf: file)
            guard range.upperBound <= bytes.count else { throw CloakroomError(.unknown, "other bytes") }
            return bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        }
    }

    /// Of an object that is larger than what the kit sends at once, that of its parts.
    private static func tag(_ bytes: Data) -> String {
        guard bytes.count > 8 << 20 else { return "\"\(MD5.hash(bytes).hexadecimal)\"" }
        let parts = stride(from: 0, to: bytes.count, by: 5 << 20).map {
            MD5.hash(bytes[$0..<min($0 + (5 << 20), bytes.count)])
        }
        return "\"\(MD5.hash(Array(parts.joined())).hexadecimal)-\(parts.count)\""
    }

    private static func xml(_ text: String) -> HTTPResponse { HTTPResponse(status: 200, body: Data(text.utf8)) }

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
