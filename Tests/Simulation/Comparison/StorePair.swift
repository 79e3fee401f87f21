import CloakroomCLinux
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

@testable import CloakroomAWS
@testable import CloakroomScriptedS3

/// One of the two that are compared: what they name differently, such as uploads, is kept for each.
enum StoreSide: Hashable { case model, real }

/// Something that the model and the real store each have of their own.
struct OnBothSides<Value> {
    private let values: [StoreSide: Value]

    init(_ value: (StoreSide) -> Value) { values = [.model: value(.model), .real: value(.real)] }

    subscript(side: StoreSide) -> Value { values[side]! }
}

struct StoreRequest {
    let method: String
    /// `nil` for the bucket.
    var key: String?
    /// As in the request line.
    var query = ""
    var fields: HeaderFields = [:]
    var body: [UInt8] = []
}

struct StoreResponse {
    let status: Int
    /// Names in lower case.
    let fields: [String: String]
    let body: [UInt8]
}

/// A real S3 server and the scripted one, which get the same requests, each signed as the project signs.
@LoopActor
final class StorePair {
    static let bucket = "photos"
    private static let region = "us-east-1"
    private let s3: ScriptedS3
    let endpoint: Endpoint
    private let credentials: Credentials
    private let connection: StoreConnection

    /// - Parameters:
    ///   - server: such as `http://127.0.0.1:8333`, with an empty bucket.
    ///   - environment: has the access key, by AWS' names.
    init(_ server: String, environment: [String: String]) throws {
        guard let url = URL(string: server), let name = url.host, let port = url.port else {
            ComparisonOptions.fail("--server wants a URL with an address and a port")
        }
        guard let id = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"] else {
            ComparisonOptions.fail("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
        }
        endpoint = try Endpoint(url: "\(server)/\(Self.bucket)", signingRegion: Self.region)
        credentials = Credentials(accessKeyID: id, secretAccessKey: Secret(secret))
        connection = StoreConnection(name, UInt16(port))
        var options = ScriptedS3.Options()
        options.bucket = Self.bucket
        options.region = Self.region
        options.identity = ScriptedIdentity(accessKeyID: id, secretAccessKey: secret)
        options.keepsRequests = false
        s3 = try ScriptedS3(options)
    }

    func send(_ request: OnBothSides<StoreRequest>) -> OnBothSides<StoreResponse> {
        simulation_set_now(simulation_real_now())
        let model = respond(signed(request[.model]), request[.model].body)
        let real = connection.exchange(signed(request[.real]), request[.real].body)
        return OnBothSides { $0 == .model ? model : real }
    }

    private func signed(_ request: StoreRequest) -> SigV4.Message {
        let path = endpoint.path + (request.key.map { "/" + PercentEncoding.encode($0, keepingSlashes: true) } ?? "")
        var message = SigV4.Message(
            method: request.method, path: path, query: request.query, fields: request.fields,
            payloadHash: SHA256.hash(request.body).hexadecimal)
        message.fields.add("host", endpoint.host)
        let time = Timestamp(secondsSince1970: Int(simulation_now() / 1_000_000_000))
        let key = SigningKey(
            secretAccessKey: credentials.secretAccessKey, day: String(time.basic.prefix(8)), region: Self.region,
            service: "s3")
        SigV4(rules: .s3).sign(&message, with: credentials, key: key, at: time)
        if request.method == "PUT" || request.method == "POST" {
            message.fields.add("content-length", String(request.body.count))
        }
        return message
    }

    private func respond(_ message: SigV4.Message, _ body: [UInt8]) -> StoreResponse {
        let target = message.path + (message.query.isEmpty ? "" : "?\(message.query)")
        let reply = s3.answer(
            S3Request(
                method: message.method, target: target,
                fields: message.fields.map { .init(name: $0.name.lowercased(), value: $0.value) }, body: body))
        var fields: [String: String] = [:]
        for field in reply.fields { fields[field.name.lowercased()] = field.value }
        return StoreResponse(status: reply.status, fields: fields, body: reply.hidesBody ? [] : reply.body)
    }
}
