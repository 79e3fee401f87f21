public import Foundation

/// The content of an object, as it is uploaded.
public struct AssetBytes: Sendable, Equatable {
    /// A media type such as `application/octet-stream`; the server has a list of those it takes.
    public var contentType: String
    public var body: HTTPBody

    public init(_ data: Data, contentType: String) {
        self.init(body: .bytes(data), contentType: contentType)
    }

    /// A whole file, read while it is uploaded; it must not change meanwhile.
    ///
    /// - Throws: ``CloakroomError`` with the code ``CloakroomError/Code/unreadableFile``.
    public init(contentsOf file: URL, contentType: String) throws {
        guard let count = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64 else {
            throw CloakroomError(.unreadableFile, "no file can be read at \(file.path)")
        }
        self.init(body: .file(file, 0..<count), contentType: contentType)
    }

    public init(body: HTTPBody, contentType: String) {
        self.contentType = contentType
        self.body = body
    }
}
