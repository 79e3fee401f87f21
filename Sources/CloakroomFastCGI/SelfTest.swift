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

    private static let canned = RequestEncoder.bytes(
        UpstreamRequest(method: "POST", origin: "", target: "/self-test", fields: [:], body: Array("hello".utf8)),
        keepsConnection: true)
}
