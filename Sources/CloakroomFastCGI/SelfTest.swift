import CloakroomHTTP
import CloakroomLoop

/// Proves at start that libfcgi reads through our function, with a canned request.
@LoopActor
enum SelfTest {
    static func run() throws(FastCGIError) {
        let parser = LibFCGIParser()
        let request = unsafe canned.withUnsafeBytes { unsafe parser.parse($0, bodyBytes: 5, fields: FieldTable([])) }
        guard request?.path == "/self-test", request?.body == Array("hello".utf8) else { throw .notIntercepted }
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
