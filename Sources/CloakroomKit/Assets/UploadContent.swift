public import Foundation

/// The content of an object, as it is uploaded.
public struct UploadContent: Sendable, Equatable {
    /// A media type such as `application/octet-stream`; the server has a list of those it accepts.
    public var contentType: String
    public var body: HTTPBody

    public init(_ data: Data, contentType: String) {
        self.init(body: .bytes(data), contentType: contentType)
    }

    /// A whole file, read while it is uploaded; it must not change meanwhile. Of a symbolic link it is the file that it
    /// leads to.
    ///
    /// - Throws: ``CloakroomError`` with the code ``CloakroomError/Code/unreadableFile``, also for what is no regular file.
    public init(contentsOf file: URL, contentType: String) throws {
        self.init(body: .file(file, 0..<(try UploadFile(file).byteCount)), contentType: contentType)
    }

    public init(body: HTTPBody, contentType: String) {
        self.contentType = contentType
        self.body = body
    }
}
