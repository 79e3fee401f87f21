// What the sources use of Apple's UniformTypeIdentifiers, as its documentation declares it. Never run: for the type
// checker alone.
public struct UTType: Sendable {
    public static var jpeg: UTType { preconditionFailure("a stub") }
    public init?(mimeType: String) { preconditionFailure("a stub") }
    public init?(filenameExtension: String) { preconditionFailure("a stub") }
    public var identifier: String { preconditionFailure("a stub") }
}
