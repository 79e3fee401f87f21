import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
import CloakroomWire
import Foundation

/// Everything the server knows, and one request after the other.
struct ServerState {
    /// A user's token: of the app's own backend, or of a session.
    struct Token {
        let user: String
        /// `nil` for no end.
        let expiration: Date?
        let number: Int
    }

    struct IssuedCredentials {
        let user: String
        let sessionToken: String
        let isReadOnly: Bool
        var expiration: Date
    }

    /// What a presigned URL allows.
    struct Grant {
        let key: String
        var uploadID: String?
        var partNumber: Int?
        /// To be sent exactly.
        let fields: [String: String]
        let byteCount: Int?
        let expiration: Date
    }

    struct Upload {
        let key: String
        let fields: [String: String]
        var parts: [Int: Data] = [:]
    }

    /// A multipart upload of the worker's.
    struct AssetUpload {
        let user: String
        let key: String
        /// Of S3's.
        let uploadID: String
        let byteCount: Int
        var isComplete = false
    }

    let options: TestServer.Options
    let clock: TestClock
    let endpoint: URL
    let assetBaseURL: URL

    var objects: [String: TestObject] = [:]
    var uploads: [String: Upload] = [:]
    var assetUploads: [String: AssetUpload] = [:]
    var faults: [PlannedFault] = []
    var requests: [TestRequest] = []

    var tokens: [String: Token] = [:]
    var identities: [String: Token] = [:]
    /// The last number of a user's tokens that are revoked.
    var revocations: [String: Int] = [:]
    /// Users whose storage is used up.
    var fullUsers: Set<String> = []
    var credentials: [String: IssuedCredentials] = [:]
    var grants: [String: Grant] = [:]
    /// The user and the token that release an image, by its key.
    var releases: [String: (user: String, token: String)] = [:]
    private var lastNumber = 0

    init(options: TestServer.Options, clock: TestClock, endpoint: URL, assetBaseURL: URL) {
        self.options = options
        self.clock = clock
        self.endpoint = endpoint
        self.assetBaseURL = assetBaseURL
    }

    var now: Date { clock.date }

    func date(after duration: Duration) -> Date { now.addingTimeInterval(duration / .seconds(1)) }

    /// Another one each time.
    mutating func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// 64 hexadecimal digits, others each time.
    mutating func digits() -> String { SHA256.hash("test server \(number())".utf8).hexadecimal }

    /// Deletes the assets that were neither stored nor renewed within the retention.
    mutating func expireAssets() {
        let oldest = now.addingTimeInterval(-(options.assetRetention / .seconds(1)))
        objects = objects.filter { !Self.isAsset($0.key) || $0.value.lastModified > oldest }
    }

    /// Where images of chats are, which cannot be renewed.
    static let chatPrefix = "chats/"

    /// Assets have no folder, or that of chats; photos have their user's.
    static func isAsset(_ key: String) -> Bool { !key.contains("/") || key.hasPrefix(chatPrefix) }
}

// MARK: Requests

extension ServerState {
    mutating func outcome(of request: HTTPRequest, _ body: Data) -> Result<HTTPResponse, HTTPTransportError> {
        guard let call = ServerCall(request, body, bucket: options.bucket) else { return .failure(.unreachable) }
        expireAssets()
        let outcome = outcome(of: call, nextFault(for: call))
        requests.append(
            TestRequest(
                operation: call.operation, method: request.method, route: call.route, key: call.key,
                byteCount: body.count, status: try? outcome.get().status, date: now))
        return outcome
    }

    private mutating func nextFault(for call: ServerCall) -> TestFault? {
        for index in faults.indices
        where faults[index].operation == call.operation && (call.key ?? "").hasPrefix(faults[index].keyPrefix) {
            guard faults[index].toPass == 0 else {
                faults[index].toPass -= 1
                continue
            }
            let fault = faults[index].fault
            faults[index].times -= 1
            if faults[index].times == 0 { faults.remove(at: index) }
            return fault
        }
        return nil
    }

    private mutating func outcome(
        of call: ServerCall, _ fault: TestFault?
    ) -> Result<HTTPResponse, HTTPTransportError> {
        switch fault {
        case nil: return .success(respond(to: call))
        case .response(let status, let code): return .success(failure(call, status, code))
        case .connectionLostBefore: return .failure(.interrupted)
        case .connectionLostAfter:
            _ = respond(to: call)
            return .failure(.interrupted)
        case .transport(let error): return .failure(error)
        case .rateLimit(let retryAfter):
            let delay = (name: "Retry-After", value: String(retryAfter.components.seconds))
            let code = call.operation.isOfWorker ? (429, ErrorCode.tooManyRequests.rawValue) : (503, "SlowDown")
            var response = failure(call, code.0, code.1)
            response.fields.append(delay)
            return .success(response)
        case .sessionRevoked:
            if let user = knownToken(of: call)?.user { revokeSessions(of: user) }
            return .success(respond(to: call))
        case .tokenEnded:
            endToken(of: call)
            return .success(respond(to: call))
        case .credentialsEnded:
            let end = now
            if let id = call.accessKeyID { credentials[id]?.expiration = end }
            return .success(respond(to: call))
        case .delay(let duration):
            clock.advance(by: min(duration, call.request.timeout))
            guard duration <= call.request.timeout else { return .failure(.timedOut) }
            expireAssets()
            return .success(respond(to: call))
        }
    }

    private mutating func respond(to call: ServerCall) -> HTTPResponse {
        var response: HTTPResponse
        switch call.site {
        case .worker: response = workerResponse(to: call)
        case .s3: response = s3Response(to: call)
        case .assets: response = readAsset(call)
        }
        stamp(&response)
        return response
    }

    private mutating func failure(_ call: ServerCall, _ status: Int, _ code: String) -> HTTPResponse {
        var response =
            call.site == .worker
            ? Self.workerError(status, code, "This failure was planned by the test")
            : Self.s3Error(status, code, isHead: call.request.method == "HEAD")
        stamp(&response)
        return response
    }

    private mutating func stamp(_ response: inout HTTPResponse) {
        response.fields += [("Date", Timestamp(now).http), ("x-amz-request-id", "test-\(number())")]
    }
}
