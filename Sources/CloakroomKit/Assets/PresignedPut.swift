import CloakroomAWS
import Foundation

/// One upload to a presigned URL.
struct PresignedPut {
    let target: UploadTarget
    let body: HTTPBody
    let httpClient: WorkerHTTPClient

    /// - Parameter isStored: called when the URL has ended since an attempt that may have stored the object.
    func run(
        progress: (@Sendable (HTTPProgress) -> Void)?, isStored: () async throws -> Bool
    ) async throws(CloakroomError) {
        // No bytes are sent to an expired URL; while the server's time is unknown, S3 reports that.
        if let expiration = target.expiration, let now = await httpClient.clock.current, now >= expiration {
            throw .uploadURLExpired
        }
        let runtime = httpClient.runtime
        let retryPolicy = httpClient.retryPolicy
        var attempts = RetryAttempts(
            maximum: retryPolicy.maximumAttempts, until: runtime.now().advanced(by: retryPolicy.uploadDeadline),
            runtime)
        let fields = try target.fieldsToSend(byteCount: body.byteCount)
        var mayBeStored = false
        while true {
            let request = HTTPRequest(
                method: "PUT", url: target.uploadURL, fields: fields, body: body,
                destination: .memory(maximumBytes: 64 << 10), timeout: try attempts.timeLeft(),
                idleTimeout: retryPolicy.uploadIdleTimeout)
            let outcome: UploadAttemptOutcome
            do throws(HTTPTransportError) {
                let response = try await httpClient.transport.send(request, progress: progress)
                if response.saysStored { return }
                outcome = UploadAttemptOutcome(
                    response, createsOnly: target.createsOnly, now: await httpClient.clock.now)
            } catch {
                outcome = UploadAttemptOutcome(error)
            }
            switch outcome {
            case .storedBefore: return
            case .final(let error):
                if error.code == .uploadURLExpired, mayBeStored {
                    do { if try await isStored() { return } } catch { throw CloakroomError(of: error) }
                }
                throw error
            case .again(let error):
                mayBeStored = true
                try await attempts.pause(after: error)
            }
        }
    }
}

extension UploadTarget {
    /// What a PUT of so many bytes sends. `Content-Length` is for the transport to write, and must be what was signed.
    func fieldsToSend(byteCount: Int64) throws(CloakroomError) -> [(name: String, value: String)] {
        var sent: [(name: String, value: String)] = []
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch name.lowercased() {
            case "host": continue
            case "content-length":
                guard Int64(value) == byteCount else {
                    throw CloakroomError(.invalidRequest, "The upload URL is for \(value) bytes, not \(byteCount)")
                }
            default: sent.append((name, value))
            }
        }
        return sent
    }

    /// Whether the destination accepts one object, and never another.
    var createsOnly: Bool {
        let query = URLComponents(url: uploadURL, resolvingAgainstBaseURL: true)?.queryItems ?? []
        return query.contains { $0.name.caseInsensitiveCompare("If-None-Match") == .orderedSame && $0.value == "*" }
            || fields.contains { $0.key.caseInsensitiveCompare("If-None-Match") == .orderedSame }
    }
}

extension HTTPResponse {
    /// Whether it is S3's word that it has stored an object: 200 with the entity tag (S3 API Reference, PutObject, "Response
    /// elements"). A proxy or the page of a hotspot says 200, too, and has stored nothing.
    var saysStored: Bool { status == 200 && self["ETag"]?.isEmpty == false }
}

/// Why an upload to a presigned URL did not succeed, as a decision.
enum UploadAttemptOutcome: Equatable {
    /// An earlier attempt stored it: the destination has one user, accepts one object, and has it.
    case storedBefore
    case again(CloakroomError)
    case final(CloakroomError)

    init(_ response: HTTPResponse, createsOnly: Bool, now: Date) {
        let document = AWSErrorResponse(Array(response.body))
        let code = document?.code ?? ""
        if response.status == 412, code == "PreconditionFailed", createsOnly {
            self = .storedBefore
            return
        }
        func error(_ code: CloakroomError.Code, _ message: String) -> CloakroomError {
            CloakroomError(
                code, message, status: response.status, serverCode: document?.code,
                retryAfter: response.retryAfter(now: now), requestID: response.requestID)
        }
        guard response.status != 200 else {
            self = .again(error(.unavailable, "The response is not S3's: it has no ETag"))
            return
        }
        // S3's own sentence stays out: it may quote the request.
        switch AWSError.kind(status: response.status, code: code) {
        case .throttled: self = .again(error(.tooManyRequests, "S3 throttles the upload"))
        case .transient where !(200..<300).contains(response.status):
            self = .again(error(.unavailable, "S3 is unavailable"))
        case .staleCredentials: self = .final(.uploadURLExpired(error))
        case .skewedClock where code == "RequestExpired": self = .final(.uploadURLExpired(error))
        case .skewedClock where code.contains("Signature"):
            self = .final(error(.accessDenied, "The upload is not what was signed"))
        case .skewedClock: self = .final(error(.unavailable, "The worker's clock and that of S3 differ too much"))
        case .transient, .refused, .noCredentials, .cancelled: self = .final(Self.refusal(response, document, error))
        }
    }

    private static func refusal(
        _ response: HTTPResponse, _ document: AWSErrorResponse?,
        _ error: (CloakroomError.Code, String) -> CloakroomError
    ) -> CloakroomError {
        switch (response.status, document?.code) {
        case _ where document?.isExpiredURL == true: .uploadURLExpired(error)
        case (_, "ExpiredPresignRequest"): .uploadURLExpired(error)
        case (403, _) where document?.message.contains("not valid yet") == true:
            error(.unavailable, "The worker's clock is ahead of that of S3")
        case (_, "BadDigest"), (_, "InvalidDigest"), (_, "XAmzContentChecksumMismatch"),
            (_, "XAmzContentSHA256Mismatch"):
            error(.checksumMismatch, "The bytes that arrived are not those that were sent")
        case (_, "EntityTooLarge"), (413, _): error(.bodyTooLarge, "S3 accepts no object of this size")
        case (412, _): error(.conditionFailed, "There is an object already")
        case (403, _?): error(.accessDenied, "S3 refuses the upload")
        case (_, let code?) where AWSError.concernsAllKeys(code):
            error(.unavailable, "The bucket, or its key of KMS, accepts nothing now")
        case (400..<500, _?): error(.invalidRequest, "S3 refuses the upload")
        default: error(.invalidResponse, "The response is not S3's")
        }
    }

    init(_ error: HTTPTransportError) {
        switch error {
        case .unreachable, .timedOut, .interrupted: self = .again(CloakroomError(error))
        case .untrusted, .tooLarge, .encoded, .invalidRequest, .unreadableFile, .unwritableFile, .notAllowedNow,
            .cancelled:
            self = .final(CloakroomError(error))
        }
    }
}

extension CloakroomError {
    fileprivate static let uploadURLExpired = CloakroomError(.uploadURLExpired, "The upload URL has expired")

    fileprivate static func uploadURLExpired(_ error: (Code, String) -> CloakroomError) -> CloakroomError {
        error(.uploadURLExpired, "The upload URL has expired")
    }
}
