import CloakroomHTTP
import CloakroomLoop

/// Proves at start that libfcgi reads what it is given, with a canned request.
@LoopActor
enum SelfTest {
    /// - Returns: one that reads by the first of the sources that works with this libfcgi.
    static func parser(_ sources: [LibFCGIParser.Source] = [.function, .file]) throws(FastCGIError) -> LibFCGIParser {
        for source in sources {
            let parser = LibFCGIParser(source)
            let request = unsafe canned.withUnsafeBytes {
                unsafe parser.parse($0, bodyBytes: 5, fields: FieldTable([]))
            }
            if request?.path == "/self-test", request?.body == Array("hello".utf8) { return parser }
        }
        throw .unusableLibrary
    }

    private static let canned: [UInt8] =
        [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
        + [1, 4, 0, 1, 0, 43, 0, 0]
        + [14, 4] + Array("REQUEST_METHODPOST".utf8)
        + [11, 10] + Array("REQUEST_URI/self-test".utf8)
        + [1, 4, 0, 1, 0, 0, 0, 0]
        + [1, 5, 0, 1, 0, 5, 0, 0] + Array("hello".utf8)
        + [1, 5, 0, 1, 0, 0, 0, 0]
}
