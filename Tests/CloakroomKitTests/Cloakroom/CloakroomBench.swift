import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

/// What a ``Cloakroom`` needs: folders, a worker that vends, and an S3 that stores what it is sent.
struct CloakroomBench {
    let folder: TemporaryFolder
    let http = Self.service()

    init() throws { folder = try TemporaryFolder() }

    /// - Parameter vended: fields beside the credentials.
    static func service(vended fields: String = "") -> ScriptedHTTP {
        ScriptedHTTP { request, _ in Self.response(to: request, vended: fields) }
    }

    static func response(to request: HTTPRequest, vended fields: String = "") -> ScriptedHTTP.Step {
        if request.url.host == "cdn.example" {
            return .response(200, [("Content-Type", "image/png")], Data("an image".utf8))
        }
        guard request.url.path.hasSuffix("sts-token") else {
            guard request.method == "PUT" else {
                return .response(404, [], Data("<Error><Code>NoSuchKey</Code></Error>".utf8))
            }
            let md5 = request.fields.first { $0.name.lowercased() == "content-md5" }
            let bytes = Data(base64Encoded: md5?.value ?? "") ?? Data()
            return .response(200, [("ETag", "\"\(Array(bytes).hexadecimal)\"")])
        }
        let end = Date().addingTimeInterval(3_600).formatted(.iso8601)
        return .json(
            200,
            #"""
            {"credentials":{"accessKeyId":"ASIA0","secretAccessKey":"s","sessionToken":"t","expiration":"\#(end)"},\#
            "region":"eu-central-1","bucket":"photos"\#(fields)}
            """#)
    }

    func configuration(_ http: ScriptedHTTP? = nil) throws -> Cloakroom.Configuration {
        let http = http ?? self.http
        var configuration = Cloakroom.Configuration(
            endpoint: try #require(URL(string: "https://api.example")), transport: http, backgroundTransport: http)
        configuration.folder = folder.url.appendingPathComponent("state")
        configuration.cacheFolder = folder.url.appendingPathComponent("cache")
        configuration.assetBaseURLs = [try #require(URL(string: "https://cdn.example"))]
        return configuration
    }

    func cloakroom(of user: String = "u_1", _ http: ScriptedHTTP? = nil) throws -> Cloakroom {
        try Cloakroom(configuration: configuration(http), user: user) { _ in "token" }
    }
}
